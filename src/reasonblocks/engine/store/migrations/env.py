"""How alembic gets at the database: by the connection it is handed, in the transaction that is open on it."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=context.config.attributes["tables"],
    render_as_batch=True,  # SQLite cannot alter most of a table in place
)
with context.begin_transaction():
    context.run_migrations()
