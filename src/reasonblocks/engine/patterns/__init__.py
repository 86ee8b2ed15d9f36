"""Patterns: the starter library, the live ones in memory, how they are found and how they are edited."""
