"""What came out of a run, for people and for machines."""
