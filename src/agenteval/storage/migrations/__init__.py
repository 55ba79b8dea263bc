"""The history of the schema. Revisions go forward only; each is a file in `versions`."""

from sqlalchemy import Connection, inspect, text

from agenteval.domain.errors import StorageError

HEAD = "0002"
"""The newest revision, so that a current database is opened without loading Alembic."""


def schema_version(connection: Connection) -> str | None:
    """None: the database is empty. Raises StorageError when it belongs to something else."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables:
        if version := connection.scalar(text("SELECT version_num FROM alembic_version")):
            return str(version)
        raise StorageError("it does not tell its version", fix="it is damaged; restore a backup, or name another file")
    if tables:
        raise StorageError("this is the database of another program", fix="name another file")
    return None
