"""The plugin `knowledge`: documents that Leadline keeps, searched by words and by meaning.

`addition` reads files and stores them, `shelf` is everything that is kept of one collection, and `base` has the search
engine with its ranking, and the fetcher.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pydantic import Field, SecretStr

from leadline.contracts import Context, Fetcher, KnowledgeBase
from leadline.plugin import PluginSettings, fetcher, search_provider

__all__ = ["KnowledgeSettings"]


class KnowledgeSettings(PluginSettings):
    """Where the documents are kept, and which files of a folder are added. Patterns are those of the shell."""

    authority = {"database": "a database, whose documents are found"}

    folder: Path = Field(Path("leadline-knowledge"), description="the folder of the documents and their index")
    database: SecretStr = Field(
        SecretStr(""),
        description="the documents of several machines: postgresql://USER@HOST/DATABASE; the folder has a copy then",
    )
    include: list[str] = Field(["*"], description="files of a folder to add, if a parser accepts their type")
    exclude: list[str] = Field(
        [".*", "~*", "*~", "node_modules", "__pycache__", "*.lock"], description="files and folders to skip"
    )
    max_file_mb: float = Field(50, gt=0, description="largest file to add, in MB")
    vector_weight: float = Field(
        1 / 16, gt=0, description="weight of the ranking by vectors, beside 1 of that by words"
    )


def _ready(settings: KnowledgeSettings) -> str | None:
    if settings.database.get_secret_value() and find_spec("psycopg") is None:
        return "plugins.knowledge.database needs psycopg: leadline plugins install 'leadline[fleet]'"
    return None


@search_provider(
    "Documents of `leadline knowledge`, searched by words and by meaning",
    settings=KnowledgeSettings,
    ready=_ready,
    work="composite",
    cache_key=None,
    uses=("knowledge.store", "knowledge.embedder"),
)
def _base(settings: KnowledgeSettings, context: Context) -> KnowledgeBase:
    from leadline_plugins.knowledge.base import Knowledge

    return Knowledge(settings, context)


@fetcher("Documents of `leadline knowledge`", settings=KnowledgeSettings, work="local", cache_key=None)
def _fetcher(settings: KnowledgeSettings, context: Context) -> Fetcher:
    from leadline_plugins.knowledge.base import KnowledgeFetcher

    return KnowledgeFetcher(settings, context)
