"""Everything that the author of a plugin imports: a decorator for each kind, and what passes through its method.

    from leadline.plugin import Call, Hit, SearchRequest, search_provider

    @search_provider("Our wiki")
    class Wiki:
        async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]: ...

The findings of the research pipeline (`REPORT`, `EVIDENCE`, …) are here as well, and imported when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field, SecretStr

from leadline.contracts import Call, Context, Run, Search, StageRun, Submission
from leadline.errors import (
    BadReply,
    Denied,
    Disconnected,
    ProviderError,
    QuotaSpent,
    RateLimited,
    Refused,
    TooLong,
    Unanswered,
    Unavailable,
    Unsupported,
)
from leadline.findings import Findings, Key
from leadline.hookspecs import (
    PluginSettings,
    ai_provider,
    chart_runner,
    claim_judge,
    dispatcher,
    embedder,
    fetcher,
    map_stage,
    middleware,
    observer,
    parser,
    report_formatter,
    reranker,
    sandbox,
    search_provider,
    search_strategy,
    stage,
    synthesizer,
    vector_store,
)
from leadline.records import *  # noqa: F403
from leadline.records import __all__ as _records
from leadline.settings import Limits
from leadline.tasks import Task, TaskKind

if TYPE_CHECKING:
    from leadline.research_findings import *  # noqa: F403

__all__ = [
    *_records,
    "BadReply",
    "Call",
    "Context",
    "Denied",
    "Disconnected",
    "Field",
    "Findings",
    "Key",
    "Limits",
    "PluginSettings",
    "ProviderError",
    "QuotaSpent",
    "RateLimited",
    "Refused",
    "Run",
    "Search",
    "SecretStr",
    "StageRun",
    "Submission",
    "Task",
    "TaskKind",
    "TooLong",
    "Unanswered",
    "Unavailable",
    "Unsupported",
    "ai_provider",
    "chart_runner",
    "claim_judge",
    "dispatcher",
    "embedder",
    "fetcher",
    "map_stage",
    "middleware",
    "observer",
    "parser",
    "report_formatter",
    "reranker",
    "sandbox",
    "search_provider",
    "search_strategy",
    "stage",
    "synthesizer",
    "vector_store",
]


def __getattr__(name: str) -> Any:
    from leadline import research_findings

    if name.startswith("_") or name not in vars(research_findings):
        raise AttributeError(f"module 'leadline.plugin' has no attribute {name!r}")
    return getattr(research_findings, name)
