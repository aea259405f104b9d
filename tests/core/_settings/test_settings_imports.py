"""What loading settings may import: nothing that was not asked for."""

from __future__ import annotations

import subprocess
import sys

SCRIPT = """
import sys
import leadline._settings.load, leadline._hosting.catalog
heavy = {"pydantic_settings", "dotenv", "yaml", "difflib", "asyncio", "httpx", "leadline_plugins", "tomli_w"}
print(sorted(heavy & set(sys.modules)))
"""


def test_the_modules_of_the_settings_are_light() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
