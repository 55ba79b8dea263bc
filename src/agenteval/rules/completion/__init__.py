"""The parts of `task_completion`: what counts as collected and as done, and what follows from it. All of it is pure."""
