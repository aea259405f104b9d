"""Heavy imports at the top of a plugin's modules: they cost every command that loads the plugin."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from threading import Lock
from typing import Any

# Modules of other packages. NumPy has 84, pandas over 600; Leadline's own dependencies do not count.
MOST = 60
_ASKING = Lock()
# Imports what every command imports, then each module that it is told in a child of its own.
_PROBE = """
import importlib, json, os, sys
import httpx, leadline.disk_cache, leadline.hookspecs, leadline.http, leadline.schemas, leadline.tasks, leadline.workers
before, reply = set(sys.modules), os.dup(1)
os.dup2(2, 1)
for line in sys.stdin:
    if child := os.fork():
        if os.waitpid(child, 0)[1]:
            os.write(reply, b"[]\\n")
    else:
        module, sys.path = json.loads(line)
        importlib.import_module(module)
        with open(reply, "w") as file:
            print(json.dumps(sorted(set(sys.modules) - before)), file=file)
        os._exit(0)
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
    with _ASKING:
        probe = _probe()
        assert probe.stdin
        assert probe.stdout
        probe.stdin.write(f"{json.dumps([module, sys.path])}\n")
        probe.stdin.flush()
        return frozenset(json.loads(probe.stdout.readline() or "[]"))


@cache
def _probe() -> subprocess.Popen[str]:
    """Start the process that imports modules, once: each start would cost half a second."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    streams: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    probe = subprocess.Popen([sys.executable, "-c", _PROBE], env=environment, text=True, **streams)  # noqa: S603
    atexit.register(probe.communicate)  # ends its input, and so the process
    return probe
