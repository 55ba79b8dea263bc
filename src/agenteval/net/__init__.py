"""Everything outbound over HTTP: pooled sessions, one guard for destinations, limits, redaction, the system clock."""

from contextvars import ContextVar

forbid: ContextVar[bool] = ContextVar("forbid_network", default=False)
"""Set while a write transaction is open: waiting for the network there would hold the database's only write lock."""
