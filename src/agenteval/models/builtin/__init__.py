"""The providers that come with AgentEval, one file each."""
