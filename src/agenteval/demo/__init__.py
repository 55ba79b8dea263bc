"""Two agents to try AgentEval on, their scenarios, and the evaluation of both: `agenteval demo`.

`agents.py` is also an example of an agent behind the `http` channel.
"""
