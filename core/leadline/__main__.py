"""`python -m leadline`: the command line."""

from __future__ import annotations

import sys

from leadline.cli import main

sys.exit(main())
