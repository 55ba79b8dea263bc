"""The tables. Values are what `codec` makes of domain objects: a type says how a column is kept, not what it means."""

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

# A later migration can only change a constraint that has a name.
METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

INSTALL = Table(
    "install",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("secret", LargeBinary, nullable=False),
    Column("created_at", String, nullable=False),
)

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("config", Text, nullable=False),
    Column("created_at", String, nullable=False, index=True),
    Column("repeats", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("finished_at", String),
    Column("error", Text, nullable=False),
)

RUN_CASES = Table(
    "run_cases",
    METADATA,
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("scenario", String, nullable=False),
    Column("case_id", String, nullable=False),
    Column("case", Text, nullable=False),
    UniqueConstraint("run_id", "case_id"),
)

ATTEMPTS = Table(
    "attempts",
    METADATA,
    Column("id", String, primary_key=True),
    Column("run_id", ForeignKey("runs.id", ondelete="CASCADE"), nullable=False),
    Column("n", Integer, nullable=False),
    Column("case_id", String, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", String, nullable=False),
    Column("conversation_id", String, nullable=False),
    Column("started_at", String, nullable=False),
    Column("finished_at", String),
    # The outcome, when finished.
    Column("success_level", String),
    Column("passed", Boolean),
    Column("policy", Text),
    Column("source", String),
    Column("cause", String),
    Column("level_bounds", String),
    Column("has_l1", Boolean),
    Column("l1_intent", Boolean),
    Column("has_l2", Boolean),
    Column("l2_completion", String),
    Column("l2_bounds", String),
    Column("rules_passed", Boolean),
    Column("weighted_score", String),
    Column("verdict_conflict", Boolean),
    Column("layers_disagree", Boolean),
    UniqueConstraint("run_id", "n", "repeat", "attempt"),
)


def _attempt_id() -> Column[str]:
    return Column("attempt_id", ForeignKey("attempts.id", ondelete="CASCADE"), primary_key=True)


# `status` is that of the turn, or "sending" from before the message is sent until its reply is stored.
TURNS = Table(
    "turns",
    METADATA,
    _attempt_id(),
    Column("index", Integer, primary_key=True, autoincrement=False),
    Column("sent_message", Text, nullable=False),
    Column("reply", Text),
    Column("tool_calls", Text),
    Column("latency_ms", Float),
    Column("status", String, nullable=False),
    Column("error", Text),
    Column("sent_at", String),
)

ANSWERS = Table(
    "answers",
    METADATA,
    _attempt_id(),
    Column("key", String, primary_key=True),
    Column("item", String, nullable=False),
    Column("text", Text, nullable=False),
    Column("by", String),
    Column("cause", String),
    Column("answer", Text, nullable=False),
)

CALLS = Table(
    "calls",
    METADATA,
    _attempt_id(),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("id", String, nullable=False),
    Column("role", String, nullable=False),
    Column("model", String, nullable=False),
    Column("prompt_hash", String, nullable=False),
    Column("latency_ms", Float),
    Column("raw", Text),
    Column("error", Text, nullable=False),
    Column("input_tokens", Integer),
    Column("output_tokens", Integer),
    Column("cost", String),
)

RESULTS = Table(
    "results",
    METADATA,
    _attempt_id(),
    Column("n", Integer, nullable=False),
    Column("rule", String, nullable=False),
    Column("status", String, nullable=False),
    Column("score", String),
    Column("low", String),
    Column("high", String),
    Column("passed", Boolean),
    Column("cause", String),
    Column("may_leave", Boolean, nullable=False),
    Column("reason", Text, nullable=False),
    Column("evidence", Text, nullable=False),
    Column("detail", Text, nullable=False),
    Column("vetoes", Text, nullable=False),
    Column("open_vetoes", Text, nullable=False),
    Column("version", String, nullable=False),
    Column("label", String, primary_key=True),
    Column("layer", String),
    Column("weight", String, nullable=False),
    Column("hard", Boolean, nullable=False),
    Column("implicit", Boolean, nullable=False),
)

REVIEWS = Table(
    "reviews",
    METADATA,
    Column("id", String, primary_key=True),
    Column("attempt_id", ForeignKey("attempts.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("key", String, nullable=False),
    Column("label", String, nullable=False),
    Column("kind", String, nullable=False),
    Column("item", String, nullable=False),
    Column("machine", String),
    Column("machine_good", Boolean),
    Column("word", String, nullable=False),
    Column("good", Boolean),
    Column("value", Text),
    Column("note", Text, nullable=False),
    Column("by", String, nullable=False),
    Column("at", String, nullable=False),
)

MEMO = Table(
    "memo",
    METADATA,
    Column("key", String, primary_key=True),
    Column("answer", Text, nullable=False),
    Column("created_at", String, nullable=False),
)

CAPABILITIES = Table(
    "capabilities",
    METADATA,
    Column("base_url", String, primary_key=True),
    Column("model", String, primary_key=True),
    Column("mode", String, nullable=False),
)
