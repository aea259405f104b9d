"""`leadline trust`: remember that the settings of the working folder are trusted; the question on a terminal."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from leadline._settings.sources import Sources
from leadline._settings.trust import trust
from leadline.commands import agrees, client_of, interactive
from leadline.commands.output import say, write
from leadline.errors import UntrustedSettings


def run(args: argparse.Namespace) -> int:
    """Trust what the settings of the working folder set now, and print it."""
    if error := client_of(args).load(complete=False).untrusted:
        path = trust(Sources(Path.cwd(), os.environ), error.digests)
        write("\n".join([*error.lines, f"Trusted in {Path.cwd()} while these values stay; remembered in {path}."]))
    else:
        write("The settings of this folder need no consent, or have it.")
    return 0


def consented(error: UntrustedSettings) -> bool:
    """Return whether the user at the terminal agrees, and remember it."""
    if not interactive():
        return False
    say("\n  ".join(["The settings of this folder could act with your rights:", *error.lines]))
    if agree := agrees("Do you know who wrote them, and trust them?"):
        trust(Sources(Path.cwd(), os.environ), error.digests)
    return agree
