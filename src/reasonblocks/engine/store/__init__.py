"""SQL is the truth: the tables, how they are opened, and how they move from version to version."""
