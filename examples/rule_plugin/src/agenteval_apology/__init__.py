"""A rule for AgentEval, in a package of its own."""
