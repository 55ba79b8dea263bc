"""Alembic runs this to apply revisions, in the transaction that the caller has opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
