"""The first tables."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_OPEN = sa.text("outcome IS NULL")


def upgrade() -> None:
    """To this version."""
    _tenants()
    _runs()
    _steps()
    _patterns()
    _findings()
    _rest()


def _tenants() -> None:
    op.create_table(
        "organisations",
        sa.Column("org_id", sa.String(length=256), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("org_id", name=op.f("pk_organisations")),
    )
    op.create_table(
        "projects",
        sa.Column("org_id", sa.String(length=256), nullable=False),
        sa.Column("project_id", sa.String(length=256), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organisations.org_id"], name=op.f("fk_projects_org_id_organisations"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "project_id", name=op.f("pk_projects")),
    )
    op.create_table(
        "keys",
        sa.Column("key_id", sa.String(length=64), nullable=False),
        sa.Column("org_id", sa.String(length=256), nullable=False),
        sa.Column("project_id", sa.String(length=256), nullable=True),
        sa.Column("name", sa.String(length=256), server_default="", nullable=False),
        sa.Column("shown", sa.String(length=64), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("revoked_at", sa.Float(), nullable=True),
        sa.Column("last_used_at", sa.Float(), nullable=True),
        sa.ForeignKeyConstraint(
            ["org_id"], ["organisations.org_id"], name=op.f("fk_keys_org_id_organisations"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_keys")),
        sa.UniqueConstraint("digest", name=op.f("uq_keys_digest")),
    )
    op.create_index(op.f("ix_keys_org_id"), "keys", ["org_id"], unique=False)


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("org_id", sa.String(length=256), nullable=False),
        sa.Column("project_id", sa.String(length=256), nullable=False),
        sa.Column("run_id", sa.String(length=256), nullable=False),
        sa.Column("agent_name", sa.Text(), server_default="", nullable=False),
        sa.Column("task", sa.Text(), server_default="", nullable=False),
        sa.Column("model", sa.String(length=256), server_default="", nullable=False),
        sa.Column("framework", sa.String(length=256), server_default="", nullable=False),
        sa.Column("codebase_id", sa.String(length=256), server_default="", nullable=False),
        sa.Column("task_profile", sa.String(length=64), server_default="coding", nullable=False),
        sa.Column("metadata", sa.Text(), server_default="{}", nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=True),
        sa.Column("started_at", sa.Float(), nullable=False),
        sa.Column("finished_at", sa.Float(), nullable=True),
        sa.Column("last_seen_at", sa.Float(), nullable=False),
        sa.Column("interrupted_at", sa.Float(), nullable=True),
        sa.Column("step_count", sa.Integer(), server_default="0", nullable=False),
        sa.Column("total_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
        sa.UniqueConstraint("org_id", "run_id", name=op.f("uq_runs_org_id_run_id")),
    )
    op.create_index("ix_runs_open", "runs", ["started_at"], unique=False, sqlite_where=_OPEN, postgresql_where=_OPEN)
    op.create_index(op.f("ix_runs_org_id_started_at"), "runs", ["org_id", "started_at"], unique=False)
    op.create_index(op.f("ix_runs_run_id"), "runs", ["run_id"], unique=False)
    op.create_index(op.f("ix_runs_started_at"), "runs", ["started_at"], unique=False)


def _steps() -> None:
    op.create_table(
        "steps",
        sa.Column("run", _ID, nullable=False),
        sa.Column("step_index", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("is_error", sa.Boolean(), nullable=False),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("cache_read_tokens", sa.BigInteger(), nullable=False),
        sa.Column("step_model", sa.String(length=256), server_default="", nullable=False),
        sa.Column("failure_type", sa.String(length=64), nullable=True),
        sa.Column("injection_sources", sa.Text(), server_default="[]", nullable=False),
        sa.Column("monitors_fired", sa.Text(), server_default="[]", nullable=False),
        sa.Column("thought", sa.Text(), server_default="", nullable=False),
        sa.Column("action", sa.Text(), nullable=True),
        sa.Column("action_input", sa.Text(), nullable=True),
        sa.Column("observation", sa.Text(), nullable=True),
        sa.Column("injections", sa.Text(), server_default="[]", nullable=False),
        sa.Column("intervention_texts", sa.Text(), server_default="[]", nullable=False),
        sa.Column("metadata", sa.Text(), server_default="{}", nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_steps_run_runs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "step_index", name=op.f("pk_steps")),
    )
    op.create_table(
        "evaluations",
        sa.Column("run", _ID, nullable=False),
        sa.Column("step_index", sa.Integer(), nullable=False),
        sa.Column("scores", sa.Text(), nullable=False),
        sa.Column("composite", sa.Float(), nullable=False),
        sa.Column("fired", sa.Text(), nullable=False),
        sa.Column("failure_type", sa.String(length=64), nullable=True),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(["run"], ["runs.id"], name=op.f("fk_evaluations_run_runs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run", "step_index", name=op.f("pk_evaluations")),
    )


def _patterns() -> None:
    op.create_table(
        "patterns",
        sa.Column("pattern_id", sa.String(length=128), nullable=False),
        sa.Column("tier", sa.String(length=2), nullable=False),
        sa.Column("org_id", sa.String(length=256), nullable=True),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("failure_type", sa.String(length=64), nullable=True),
        sa.Column("gate_threshold", sa.Float(), nullable=True),
        sa.Column("model_family", sa.String(length=64), server_default="", nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("provenance", sa.String(length=16), nullable=False),
        sa.Column("source_trace_id", sa.String(length=256), nullable=True),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("library_digest", sa.String(length=64), nullable=True),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("deleted", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("pattern_id", name=op.f("pk_patterns")),
    )
    op.create_index(op.f("ix_patterns_tier_org_id"), "patterns", ["tier", "org_id"], unique=False)
    op.create_table(
        "pattern_versions",
        sa.Column("pattern_id", sa.String(length=128), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("failure_type", sa.String(length=64), nullable=True),
        sa.Column("gate_threshold", sa.Float(), nullable=True),
        sa.Column("model_family", sa.String(length=64), server_default="", nullable=False),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("changed_by", sa.String(length=64), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.ForeignKeyConstraint(
            ["pattern_id"],
            ["patterns.pattern_id"],
            name=op.f("fk_pattern_versions_pattern_id_patterns"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("pattern_id", "version", name=op.f("pk_pattern_versions")),
    )


def _findings() -> None:
    op.create_table(
        "findings",
        sa.Column("finding_id", sa.String(length=64), nullable=False),
        sa.Column("org_id", sa.String(length=256), nullable=False),
        sa.Column("project_id", sa.String(length=256), nullable=False),
        sa.Column("codebase_id", sa.String(length=256), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("file_path", sa.Text(), server_default="", nullable=False),
        sa.Column("finding_type", sa.String(length=64), server_default="note", nullable=False),
        sa.Column("metadata", sa.Text(), server_default="{}", nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("finding_id", name=op.f("pk_findings")),
    )
    op.create_index(
        op.f("ix_findings_org_id_codebase_id_created_at"),
        "findings",
        ["org_id", "codebase_id", "created_at"],
        unique=False,
    )
    op.create_table(
        "profiles",
        sa.Column("profile_id", sa.String(length=64), nullable=False),
        sa.Column("org_id", sa.String(length=256), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("weights", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), server_default="", nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("updated_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("profile_id", name=op.f("pk_profiles")),
        sa.UniqueConstraint("org_id", "name", name=op.f("uq_profiles_org_id_name")),
    )


def _rest() -> None:
    op.create_table(
        "facts",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_facts")),
    )
    op.create_table(
        "vectors",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("item_id", sa.String(length=128), nullable=False),
        sa.Column("model", sa.String(length=256), nullable=False),
        sa.Column("dimension", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("vector", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "item_id", "model", name=op.f("pk_vectors")),
    )
    op.create_table(
        "changes",
        sa.Column("number", _ID, autoincrement=True, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("item_id", sa.String(length=128), nullable=False),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_changes")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "traces",
        sa.Column("id", _ID, autoincrement=True, nullable=False),
        sa.Column("org_id", sa.String(length=256), nullable=False),
        sa.Column("trace_id", sa.String(length=256), nullable=False),
        sa.Column("outcome", sa.String(length=64), nullable=True),
        sa.Column("step_count", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.Float(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_traces")),
        sa.UniqueConstraint("org_id", "trace_id", name=op.f("uq_traces_org_id_trace_id")),
    )
    op.create_index(op.f("ix_traces_created_at"), "traces", ["created_at"], unique=False)
