"""Principals: the users on whose behalf runs work. Each has a folder of runs of its own."""

from __future__ import annotations

import re
from pathlib import Path

from leadline.encoding import digest, without_surrogates
from leadline.errors import UsageError
from leadline.records import Principal
from leadline.runs import PRINCIPALS

# Characters of an id.
MAX_ID = 1_000
# Characters of an id that its folder shows.
_SHOWN = 32
_UNSAFE = re.compile(r"[^a-z0-9]+")


def principal_of(principal: Principal | str | None) -> Principal | None:
    """Return the principal with this id. Raises `UsageError` for an id that is blank, too long or not text."""
    if principal is None:
        return None
    name = principal.id if isinstance(principal, Principal) else principal
    if not isinstance(name, str) or without_surrogates(name) != name:
        raise UsageError(f"principal: the id must be Unicode text or a leadline.records.Principal, not {name!r:.80}")
    if not name.strip():
        raise UsageError("principal: the id is empty; leave `principal` out for a run without one")
    if len(name) > MAX_ID:
        raise UsageError(f"principal: the id has {len(name):,} characters, but at most {MAX_ID:,} are allowed")
    return principal if isinstance(principal, Principal) else Principal(id=name)


def folder_of(runs: Path, principal: Principal | None) -> Path:
    """Return the folder of a principal's runs; without a principal, the folder of runs itself.

    Ids may come from strangers: the name consists of letters and digits of the id, for people, and of its digest. So no
    id leads out of the folder or names a device, and different ids have different folders on every file system.
    """
    if principal is None:
        return runs
    shown = _UNSAFE.sub("-", principal.id[:_SHOWN].lower()).strip("-")
    return runs / PRINCIPALS / "-".join(filter(None, (shown, digest(principal.id.encode()))))
