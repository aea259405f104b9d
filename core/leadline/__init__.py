"""Leadline: plugin-based deep research. A question goes in; a report comes out whose citations have been checked.

The names here are the public ones. They are imported when they are first used, so that `import leadline` costs
nothing; the records are in `leadline.records`, the findings of the pipeline in `leadline.findings`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str
    from leadline.api import research as research
    from leadline.api import research_sync as research_sync
    from leadline.api import tune_gc as tune_gc
    from leadline.client import Client as Client
    from leadline.client import Run as Run
    from leadline.errors import ConfigError as ConfigError
    from leadline.errors import LeadlineError as LeadlineError
    from leadline.errors import ProviderError as ProviderError
    from leadline.errors import UsageError as UsageError
    from leadline.findings import Key as Key
    from leadline.hookspecs import PluginSettings as PluginSettings
    from leadline.runs import Result as Result
    from leadline.tasks import Task as Task
    from leadline.tasks import TaskKind as TaskKind

_HOMES = {
    "Client": "client",
    "ConfigError": "errors",
    "Key": "findings",
    "LeadlineError": "errors",
    "PluginSettings": "hookspecs",
    "ProviderError": "errors",
    "Result": "runs",
    "Run": "client",
    "Task": "tasks",
    "TaskKind": "tasks",
    "UsageError": "errors",
    "research": "api",
    "research_sync": "api",
    "tune_gc": "api",
}
__all__ = [*sorted(_HOMES), "__version__"]


def __getattr__(name: str) -> object:
    from importlib import import_module, metadata

    if name not in __all__:
        raise AttributeError(f"module 'leadline' has no attribute {name!r}")
    home = _HOMES.get(name)
    value: object = getattr(import_module(f"leadline.{home}"), name) if home else metadata.version("leadline")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
