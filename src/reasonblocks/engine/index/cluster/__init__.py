"""A Qdrant cluster as the vector index of many servers: searched by all of them, written by one at a time."""
