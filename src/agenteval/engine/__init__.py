"""One loop: converse with the agent, judge the dialog, keep what came out."""
