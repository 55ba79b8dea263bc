"""Agents that try to dictate their verdict."""
