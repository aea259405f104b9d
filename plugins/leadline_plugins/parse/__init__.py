"""Parsers: bytes to text. Each module but the shared `clean` and `media` is a plugin."""
