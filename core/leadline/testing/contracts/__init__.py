"""What every plugin of a kind must do, as test classes: derive one, say what to test, and run pytest.

    class TestWiki(SearchProviderContract):
        @pytest.fixture
        def offer(self):
            return leadline.Offer(Wiki, WikiSettings, "Our wiki")

The built-in plugins pass the same tests. They need pytest and pytest-asyncio, which nothing else of Leadline imports:
import this package from tests only. A test that cannot hold for a plugin is overridden in its class, with the reason.
"""

from leadline.testing.contracts.base import KEY, PluginContract
from leadline.testing.contracts.drawing import ChartRunnerContract, SandboxContract
from leadline.testing.contracts.embedders import EmbedderContract, RerankerContract
from leadline.testing.contracts.judges import ClaimJudgeContract
from leadline.testing.contracts.models import AIProviderContract, TaskProviderContract
from leadline.testing.contracts.pages import FetcherContract, ParserContract
from leadline.testing.contracts.reports import ReportFormatterContract, SynthesizerContract
from leadline.testing.contracts.search import SearchProviderContract, SearchStrategyContract

__all__ = [
    "KEY",
    "AIProviderContract",
    "ChartRunnerContract",
    "ClaimJudgeContract",
    "EmbedderContract",
    "FetcherContract",
    "ParserContract",
    "PluginContract",
    "ReportFormatterContract",
    "RerankerContract",
    "SandboxContract",
    "SearchProviderContract",
    "SearchStrategyContract",
    "SynthesizerContract",
    "TaskProviderContract",
]
