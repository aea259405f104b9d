"""The plugin `knowledge`: documents that Leadline keeps, searched by words and by meaning.

`addition` reads files and stores them, `shelf` is everything that is kept of one collection, and `base` has the search
engine with its ranking, and the fetcher.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from leadline.contracts import Context, Fetcher, KnowledgeBase
from leadline.hookspecs import Offer, PluginSettings, hookimpl

__all__ = ["KnowledgeSettings", "leadline_fetchers", "leadline_search_providers"]


class KnowledgeSettings(PluginSettings):
    """Where the documents are kept, and which files of a folder are added. Patterns are those of the shell."""

    folder: Path = Field(Path("leadline-knowledge"), description="the folder of the documents and their index")
    include: list[str] = Field(["*"], description="files of a folder to add, if a parser accepts their type")
    exclude: list[str] = Field(
        [".*", "~*", "*~", "node_modules", "__pycache__", "*.lock"], description="files and folders to skip"
    )
    max_file_mb: float = Field(50, gt=0, description="largest file to add, in MB")
    vector_weight: float = Field(
        1 / 16, gt=0, description="weight of the ranking by vectors, beside 1 of that by words"
    )


def _base(settings: KnowledgeSettings, context: Context) -> KnowledgeBase:
    from leadline_plugins.knowledge.base import Knowledge

    return Knowledge(settings, context)


def _fetcher(settings: KnowledgeSettings, context: Context) -> Fetcher:
    from leadline_plugins.knowledge.base import KnowledgeFetcher

    return KnowledgeFetcher(settings, context)


@hookimpl
def leadline_search_providers() -> Iterable[Offer[KnowledgeSettings, KnowledgeBase]]:
    """Offer the base; no other run reuses its passages, because documents change and users have their own."""
    yield Offer(
        _base,
        KnowledgeSettings,
        "Documents of `leadline knowledge`, searched by words and by meaning",
        keep=False,
        free=True,
        per_user=True,
        calls=True,
        uses=("knowledge.store", "knowledge.embedder"),
    )


@hookimpl
def leadline_fetchers() -> Iterable[Offer[KnowledgeSettings, Fetcher]]:
    """Offer the fetcher of stored documents."""
    summary = "Documents of `leadline knowledge`"
    yield Offer(_fetcher, KnowledgeSettings, summary, free=True, per_user=True, keep=False)
