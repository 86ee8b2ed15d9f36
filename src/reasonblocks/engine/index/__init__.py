"""The vector index: made from the tables, following them, and never the only place where anything is kept."""
