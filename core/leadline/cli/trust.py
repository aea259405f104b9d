"""`leadline trust`: remember that the settings of the working folder are trusted; the question on a terminal."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from leadline.cli.common import client_of, interactive
from leadline.cli.terminal import say, write
from leadline.errors import UntrustedSettings


def run(args: argparse.Namespace) -> int:
    """Trust what the settings of the working folder set now, for the chosen pipeline, and print it."""
    error = client_of(args).load(complete=False).untrusted
    if error is None:
        write("The settings of this folder need no consent, or have it.")
    else:
        write("\n".join(error.lines))
        write(f"Trusted in {Path.cwd()}, as long as these values stay; remembered in {_remember(error)}.")
    return 0


def consented(error: UntrustedSettings) -> bool:
    """Return whether the user at the terminal agrees, and remember it."""
    if not interactive():
        return False
    say("\n  ".join(["The settings of this folder could act with your rights:", *error.lines]))
    sys.stderr.write("Do you know who wrote them, and trust them? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        return False
    _remember(error)
    return True


def _remember(error: UntrustedSettings) -> Path:
    from leadline._settings.sources import Sources
    from leadline._settings.trust import trust

    return trust(Sources(Path.cwd(), os.environ), error.digests)
