"""Vector stores, and what they share."""

from __future__ import annotations

import re
from hashlib import blake2b

# Characters of a name that people see in the safe one.
_SHOWN = 32
_UNSAFE = re.compile(r"[^a-z0-9]+")


def safe_name(name: str) -> str:
    """Return a name for the folder or the address of a collection: letters, digits and `-`, different for each name."""
    shown = _UNSAFE.sub("-", name[:_SHOWN].lower()).strip("-")
    return "-".join(filter(None, (shown, blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest())))
