"""`leadline version`."""

from __future__ import annotations

import argparse

from leadline import __version__
from leadline.cli.out import write


def run(args: argparse.Namespace) -> int:
    """Print the version."""
    write(f"leadline {__version__}")
    return 0
