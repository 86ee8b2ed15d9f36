"""Doing: deadlines, the breaker, actors, the process runtime, and the drivers that run a plan."""
