"""Servers on loopback that behave as told: a model and an agent."""
