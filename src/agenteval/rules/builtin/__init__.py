"""The nine rules, one file each, with its prompt beside it where it asks a judge."""
