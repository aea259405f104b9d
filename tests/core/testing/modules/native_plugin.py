"""A plugin that imports a native library of some size at its top."""

import pypdfium2  # type: ignore[import-untyped]

USED = pypdfium2
