"""Everything outbound over HTTP: pooled sessions, one guard for destinations, limits, redaction, the system clock."""
