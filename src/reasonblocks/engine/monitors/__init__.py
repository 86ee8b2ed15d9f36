"""The monitors: what goes wrong in a trajectory, seen step by step, with the evidence for it."""
