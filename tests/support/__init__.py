"""What the tests share: a recording stand-in for rb-api, and scripted agents."""
