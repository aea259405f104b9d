"""Plugins: found by their entry points, loaded one by one, made, entered and left."""
