"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "capabilities",
        sa.Column("base_url", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("mode", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("base_url", "model", name=op.f("pk_capabilities")),
    )
    op.create_table(
        "install",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("secret", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_install")),
    )
    op.create_table(
        "memo",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_memo")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("config", sa.Text(), nullable=False),
        sa.Column("created_at", sa.String(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("finished_at", sa.String(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_created_at"), "runs", ["created_at"], unique=False)
    op.create_table(
        "attempts",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("case_id", sa.String(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("conversation_id", sa.String(), nullable=False),
        sa.Column("started_at", sa.String(), nullable=False),
        sa.Column("finished_at", sa.String(), nullable=True),
        sa.Column("success_level", sa.String(), nullable=True),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.Column("policy", sa.Text(), nullable=True),
        sa.Column("source", sa.String(), nullable=True),
        sa.Column("cause", sa.String(), nullable=True),
        sa.Column("level_bounds", sa.String(), nullable=True),
        sa.Column("has_l1", sa.Boolean(), nullable=True),
        sa.Column("l1_intent", sa.Boolean(), nullable=True),
        sa.Column("has_l2", sa.Boolean(), nullable=True),
        sa.Column("l2_completion", sa.String(), nullable=True),
        sa.Column("l2_bounds", sa.String(), nullable=True),
        sa.Column("rules_passed", sa.Boolean(), nullable=True),
        sa.Column("weighted_score", sa.String(), nullable=True),
        sa.Column("verdict_conflict", sa.Boolean(), nullable=True),
        sa.Column("layers_disagree", sa.Boolean(), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_attempts_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_attempts")),
        sa.UniqueConstraint("run_id", "n", "repeat", "attempt", name=op.f("uq_attempts_run_id_n_repeat_attempt")),
    )
    op.create_table(
        "run_cases",
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("scenario", sa.String(), nullable=False),
        sa.Column("case_id", sa.String(), nullable=False),
        sa.Column("case", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_cases_run_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("run_id", "n", name=op.f("pk_run_cases")),
        sa.UniqueConstraint("run_id", "case_id", name=op.f("uq_run_cases_run_id_case_id")),
    )
    op.create_table(
        "answers",
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("item", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("by", sa.String(), nullable=True),
        sa.Column("cause", sa.String(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempts.id"], name=op.f("fk_answers_attempt_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("attempt_id", "key", name=op.f("pk_answers")),
    )
    op.create_table(
        "calls",
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("model", sa.String(), nullable=False),
        sa.Column("prompt_hash", sa.String(), nullable=False),
        sa.Column("latency_ms", sa.Float(), nullable=True),
        sa.Column("raw", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=True),
        sa.Column("output_tokens", sa.Integer(), nullable=True),
        sa.Column("cost", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_calls_attempt_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("attempt_id", "n", name=op.f("pk_calls")),
    )
    op.create_table(
        "results",
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("rule", sa.String(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("score", sa.String(), nullable=True),
        sa.Column("low", sa.String(), nullable=True),
        sa.Column("high", sa.String(), nullable=True),
        sa.Column("passed", sa.Boolean(), nullable=True),
        sa.Column("cause", sa.String(), nullable=True),
        sa.Column("may_leave", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("vetoes", sa.Text(), nullable=False),
        sa.Column("open_vetoes", sa.Text(), nullable=False),
        sa.Column("version", sa.String(), nullable=False),
        sa.Column("label", sa.String(), nullable=False),
        sa.Column("layer", sa.String(), nullable=True),
        sa.Column("weight", sa.String(), nullable=False),
        sa.Column("hard", sa.Boolean(), nullable=False),
        sa.Column("implicit", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["attempt_id"], ["attempts.id"], name=op.f("fk_results_attempt_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("attempt_id", "label", name=op.f("pk_results")),
    )
    op.create_table(
        "turns",
        sa.Column("attempt_id", sa.String(), nullable=False),
        sa.Column("index", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("sent_message", sa.Text(), nullable=False),
        sa.Column("reply", sa.Text(), nullable=True),
        sa.Column("tool_calls", sa.Text(), nullable=True),
        sa.Column("latency_ms", sa.Float(), nullable=True),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("sent_at", sa.String(), nullable=True),
        sa.ForeignKeyConstraint(["attempt_id"], ["attempts.id"], name=op.f("fk_turns_attempt_id"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("attempt_id", "index", name=op.f("pk_turns")),
    )
    # ### end Alembic commands ###
