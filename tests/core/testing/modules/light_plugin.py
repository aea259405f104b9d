"""A plugin that imports what it needs where it needs it."""

import json
import sqlite3

import httpx

USED = (json, sqlite3, httpx)


def draw() -> object:
    """Import the big package when it is used."""
    import bulky  # type: ignore[import-not-found]

    return bulky
