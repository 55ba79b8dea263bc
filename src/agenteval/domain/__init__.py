"""The pure core: what a dialog, a question, a verdict and a number mean."""
