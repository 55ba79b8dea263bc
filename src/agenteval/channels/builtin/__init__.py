"""Built-in channels, one module each."""
