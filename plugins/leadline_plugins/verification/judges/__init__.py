"""The built-in judges."""
