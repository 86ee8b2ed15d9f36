"""Deciding: pure functions and one generator. Nothing in this room waits, sends or sleeps."""
