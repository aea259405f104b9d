"""Tools that a model may call while it explores."""
