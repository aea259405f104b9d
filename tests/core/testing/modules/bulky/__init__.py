"""A package of many modules."""

import sys
from types import ModuleType

for number in range(70):
    sys.modules[f"bulky.part{number}"] = ModuleType(f"bulky.part{number}")
