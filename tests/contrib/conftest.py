"""`leadline-bridges` has no dependencies of its own, so that its tests need no installation."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "contrib" / "leadline-bridges"))
