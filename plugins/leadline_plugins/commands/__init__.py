"""The commands of the built-in plugins."""
