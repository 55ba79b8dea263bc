"""Judges: questions in, verified verdicts out."""
