"""A failing agent, caught and steered: a real LangChain agent with a scripted model, offline."""
