"""rb-api: HTTP around the engine, which does all the deciding."""
