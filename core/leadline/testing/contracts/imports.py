"""Heavy imports at the top of a plugin's modules: they cost every command that loads the plugin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache

# Modules of other packages. NumPy has 84, pandas over 600; Leadline's own dependencies do not count.
MOST = 60
_PROBE = """
import importlib, json, sys
import httpx, leadline.disk_cache, leadline.hookspecs, leadline.http, leadline.schemas, leadline.tasks, leadline.workers
before = set(sys.modules)
importlib.import_module(sys.argv[1])
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def modules_of(*parts: object) -> list[str]:
    """Return the modules that define these objects, without Leadline's and those of scripts."""
    names = {str(getattr(part, "__module__", "")) for part in parts}
    return sorted(name for name in names if name and name.partition(".")[0] not in ("leadline", "__main__", "builtins"))


def heavy_imports(module: str, required: tuple[str, ...]) -> list[str]:
    """Return what a module imports at its top and should not: modules that its offer requires, and big packages.

    It counts modules, because seconds would depend on the machine. A module that cannot be imported in a process of its
    own, such as a test, has none.
    """
    own = {"leadline", module.partition(".")[0]}
    new = _imported(module)
    found = [name for name in required if name in new and name.partition(".")[0] not in own]
    counts: dict[str, int] = {}
    for top in (name.partition(".")[0] for name in new):
        if top not in own and top not in sys.stdlib_module_names:
            counts[top] = counts.get(top, 0) + 1
    if sum(counts.values()) > MOST:
        largest = sorted(counts, key=lambda top: -counts[top])[:3]
        found += [f"{top} ({counts[top]} modules)" for top in largest if top not in found]
    return found


@cache
def _imported(module: str) -> frozenset[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-c", _PROBE, module]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    return frozenset(json.loads(done.stdout.splitlines()[-1])) if done.returncode == 0 else frozenset()
