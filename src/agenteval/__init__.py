"""AgentEval: evaluate conversational AI agents."""

__version__ = "0.1.0"
