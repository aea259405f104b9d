"""A plugin that imports a big package at its top."""

import bulky  # type: ignore[import-not-found]

USED = bulky
