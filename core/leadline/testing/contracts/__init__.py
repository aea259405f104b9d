"""Contract tests: test classes for plugins of each kind. Derive one, name the decorated class, and run pytest.

    class TestWiki(SearchProviderContract):
        tested = Wiki

The built-in plugins pass the same tests. Import this package from tests only: it needs pytest and pytest-asyncio, which
Leadline does not install. If a test cannot apply to your plugin, override it in your class and state the reason.
"""

from leadline.testing.contracts.base import KEY, PluginContract
from leadline.testing.contracts.commands import CommandContract
from leadline.testing.contracts.dispatchers import DispatcherContract
from leadline.testing.contracts.models import (
    AIProviderContract,
    ClaimJudgeContract,
    EmbedderContract,
    RerankerContract,
    TaskProviderContract,
)
from leadline.testing.contracts.reports import (
    ChartRunnerContract,
    ReportFormatterContract,
    SandboxContract,
    SynthesizerContract,
)
from leadline.testing.contracts.search import (
    FetcherContract,
    ParserContract,
    SearchProviderContract,
    SearchStrategyContract,
)
from leadline.testing.contracts.stages import MapStageContract, MiddlewareContract, ObserverContract, StageContract
from leadline.testing.contracts.vectors import VectorStoreContract

__all__ = [
    "KEY",
    "AIProviderContract",
    "ChartRunnerContract",
    "ClaimJudgeContract",
    "CommandContract",
    "DispatcherContract",
    "EmbedderContract",
    "FetcherContract",
    "MapStageContract",
    "MiddlewareContract",
    "ObserverContract",
    "ParserContract",
    "PluginContract",
    "ReportFormatterContract",
    "RerankerContract",
    "SandboxContract",
    "SearchProviderContract",
    "SearchStrategyContract",
    "StageContract",
    "SynthesizerContract",
    "TaskProviderContract",
    "VectorStoreContract",
]
