"""The tables. Everything an index or a cache holds can be made again from them.

Times are seconds since 1970 in UTC; what is JSON is kept as text, encoded and decoded where it is used.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
)

Id = BigInteger().with_variant(Integer, "sqlite")
"""Numbers that the database gives: in SQLite only an INTEGER is one of those, and it has 64 bits anyway."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

facts = Table(
    "facts",
    metadata,
    Column("name", String(64), primary_key=True),  # what the database as a whole knows, such as `library_version`
    Column("value", Text, nullable=False),
)

organisations = Table(
    "organisations",
    metadata,
    Column("org_id", String(256), primary_key=True),
    Column("created_at", Float, nullable=False),
)

projects = Table(
    "projects",
    metadata,
    Column("org_id", String(256), ForeignKey("organisations.org_id", ondelete="CASCADE"), nullable=False),
    Column("project_id", String(256), nullable=False),
    Column("created_at", Float, nullable=False),
    PrimaryKeyConstraint("org_id", "project_id"),
)

keys = Table(
    "keys",
    metadata,
    Column("key_id", String(64), primary_key=True),
    Column("org_id", String(256), ForeignKey("organisations.org_id", ondelete="CASCADE"), nullable=False),
    Column("project_id", String(256)),  # none: the key is good for every project of its org
    Column("name", String(256), nullable=False, server_default=""),
    Column("shown", String(64), nullable=False),  # the first characters, by which people know it again
    Column("digest", String(64), nullable=False, unique=True),  # SHA-256 of the whole key, never the key
    Column("created_at", Float, nullable=False),
    Column("revoked_at", Float),
    Column("last_used_at", Float),
    Index(None, "org_id"),
)

runs = Table(
    "runs",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("org_id", String(256), nullable=False),
    Column("project_id", String(256), nullable=False),
    Column("run_id", String(256), nullable=False),
    Column("agent_name", Text, nullable=False, server_default=""),
    Column("task", Text, nullable=False, server_default=""),
    Column("model", String(256), nullable=False, server_default=""),
    Column("framework", String(256), nullable=False, server_default=""),
    Column("codebase_id", String(256), nullable=False, server_default=""),
    Column("task_profile", String(64), nullable=False, server_default="coding"),
    Column("metadata", Text, nullable=False, server_default="{}"),
    Column("outcome", String(64)),
    Column("started_at", Float, nullable=False),
    Column("finished_at", Float),
    Column("last_seen_at", Float, nullable=False),
    Column("interrupted_at", Float),  # since when it waits for a person; none once it goes on
    Column("step_count", Integer, nullable=False, server_default="0"),
    Column("total_tokens", BigInteger, nullable=False, server_default="0"),
    Column("lost_steps", Integer, nullable=False, server_default="0"),  # on the way here, as its client reports
    Column("loss_cause", String(64)),
    UniqueConstraint("org_id", "run_id"),
    Index(None, "org_id", "started_at"),
    Index(None, "started_at"),
    Index(None, "run_id"),
    # not of last_seen_at: that changes with every event, and an index of it would have to change along
    Index(
        "ix_runs_open",
        "started_at",
        sqlite_where=Column("outcome").is_(None),
        postgresql_where=Column("outcome").is_(None),
    ),
)

steps = Table(
    "steps",
    metadata,
    # What is short comes first: what follows a long text is slow to reach in a row.
    Column("run", Id, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("step_index", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("is_error", Boolean, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("cache_read_tokens", BigInteger, nullable=False),
    Column("step_model", String(256), nullable=False, server_default=""),
    Column("failure_type", String(64)),
    Column("injection_sources", Text, nullable=False, server_default="[]"),
    Column("monitors_fired", Text, nullable=False, server_default="[]"),
    Column("thought", Text, nullable=False, server_default=""),
    Column("action", Text),
    Column("action_input", Text),
    Column("observation", Text),
    Column("injections", Text, nullable=False, server_default="[]"),
    Column("intervention_texts", Text, nullable=False, server_default="[]"),
    Column("metadata", Text, nullable=False, server_default="{}"),
    PrimaryKeyConstraint("run", "step_index"),
)

evaluations = Table(
    "evaluations",
    metadata,
    Column("run", Id, ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("step_index", Integer, nullable=False),
    Column("scores", Text, nullable=False),
    Column("composite", Float, nullable=False),
    Column("fired", Text, nullable=False),
    Column("failure_type", String(64)),
    Column("evidence", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    PrimaryKeyConstraint("run", "step_index"),
)

patterns = Table(
    "patterns",
    metadata,
    Column("pattern_id", String(128), primary_key=True),
    Column("tier", String(2), nullable=False),
    Column("org_id", String(256)),  # none: all organisations share it
    Column("status", String(16), nullable=False),
    Column("failure_type", String(64)),
    Column("gate_threshold", Float),
    Column("model_family", String(64), nullable=False, server_default=""),
    Column("fields", Text, nullable=False),
    Column("provenance", String(16), nullable=False),
    Column("source_trace_id", String(256)),
    Column("version", Integer, nullable=False),
    Column("library_digest", String(64)),  # what was imported; none for those that are not of the starter library
    Column("digest", String(64), nullable=False),  # what it is now: another one means that somebody edited it
    Column("deleted", Boolean, nullable=False),  # only of the starter library, so that it does not come back
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Index(None, "tier", "org_id"),
)

pattern_versions = Table(
    "pattern_versions",
    metadata,
    Column("pattern_id", String(128), ForeignKey("patterns.pattern_id", ondelete="CASCADE"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("status", String(16), nullable=False),
    Column("failure_type", String(64)),
    Column("gate_threshold", Float),
    Column("model_family", String(64), nullable=False, server_default=""),
    Column("fields", Text, nullable=False),
    Column("changed_by", String(64), nullable=False),
    Column("created_at", Float, nullable=False),
    PrimaryKeyConstraint("pattern_id", "version"),
)

findings = Table(
    "findings",
    metadata,
    Column("finding_id", String(64), primary_key=True),
    Column("org_id", String(256), nullable=False),
    Column("project_id", String(256), nullable=False),
    Column("codebase_id", String(256), nullable=False),
    Column("content", Text, nullable=False),
    Column("file_path", Text, nullable=False, server_default=""),
    Column("finding_type", String(64), nullable=False, server_default="note"),
    Column("metadata", Text, nullable=False, server_default="{}"),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    Index(None, "org_id", "codebase_id", "created_at"),
)

vectors = Table(
    "vectors",
    metadata,
    Column("kind", String(16), nullable=False),  # `pattern` or `finding`
    Column("item_id", String(128), nullable=False),
    Column("model", String(256), nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("digest", String(64), nullable=False),  # of the text it was made from: another text needs another vector
    Column("vector", LargeBinary, nullable=False),
    PrimaryKeyConstraint("kind", "item_id", "model"),
)

changes = Table(
    "changes",
    metadata,
    Column("number", Id, primary_key=True, autoincrement=True),
    Column("kind", String(16), nullable=False),  # `pattern`, `finding` or `profile`
    Column("item_id", String(128), nullable=False),
    sqlite_autoincrement=True,  # a number is never given twice, also after old ones were deleted
)

profiles = Table(
    "profiles",
    metadata,
    Column("profile_id", String(64), primary_key=True),
    Column("org_id", String(256), nullable=False),
    Column("name", String(64), nullable=False),
    Column("weights", Text, nullable=False),
    Column("description", Text, nullable=False, server_default=""),
    Column("created_at", Float, nullable=False),
    Column("updated_at", Float, nullable=False),
    UniqueConstraint("org_id", "name"),
)

traces = Table(
    "traces",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("org_id", String(256), nullable=False),
    Column("trace_id", String(256), nullable=False),
    Column("outcome", String(64)),
    Column("step_count", Integer, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("org_id", "trace_id"),
    Index(None, "created_at"),
)
