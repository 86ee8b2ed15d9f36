"""Where commands read runs and patterns: a data directory, or a server."""
