"""What several commands do alike: the client of their options, pairs, paths as people write them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from leadline.api import Client
from leadline.errors import UsageError


def client_of(args: argparse.Namespace, pipeline: str = "") -> Client:
    """Return the client that the options ask for, or the same with another pipeline."""
    return Client(
        docs=getattr(args, "docs", ()),
        settings=args.settings,
        set=args.set,
        pipeline=pipeline or getattr(args, "pipeline", ""),
        formats=[name.strip() for text in getattr(args, "format", ()) for name in text.split(",")],
        folder=getattr(args, "folder", None),
    )


def pairs(texts: Sequence[str], option: str) -> dict[str, str]:
    """Return what `KEY=VALUE` options say. Raises `UsageError`."""
    found = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise UsageError(f"{option} {text!r}: write KEY=VALUE, such as {option} ticket=42")
        found[key.strip()] = value.strip()
    return found


def near(path: Path) -> str:
    """Return a path from the working folder where it lies below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)


def interactive() -> bool:
    """Tell whether there is somebody who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()
