"""Texts as vectors: the embedders, the thread they work on, what a cosine means, and the screen before all that."""
