"""Apart, because Alembic takes longer to load than anything else here and a database needs it once a version."""

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from agenteval.domain.errors import StorageError
from agenteval.storage.migrations import HEAD, schema_version


def upgrade(connection: Connection) -> None:
    """To the newest revision, in the transaction of `connection`. Raises StorageError when it is newer already."""
    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", "agenteval.storage:migrations")
    known = {revision.revision for revision in ScriptDirectory.from_config(config).walk_revisions()}
    current = schema_version(connection)
    if current not in {None, *known}:
        raise StorageError(
            f"this database was written by a newer version of AgentEval (schema {current}; this one knows {HEAD})",
            fix="upgrade AgentEval, or name another database",
        )
    command.upgrade(config, "head")
