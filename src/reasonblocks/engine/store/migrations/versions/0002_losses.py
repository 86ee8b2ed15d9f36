"""Runs know how many of their steps were lost on the way."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """To this version."""
    with op.batch_alter_table("runs") as table:
        table.add_column(sa.Column("lost_steps", sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("loss_cause", sa.String(64), nullable=True))
