"""Runs: taking in what agents report, scoring it, showing it, and clearing up after those that went silent."""
