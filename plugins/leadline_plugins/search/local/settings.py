"""The settings of the plugin `local`."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from leadline.hookspecs import PluginSettings


class LocalSettings(PluginSettings):
    """A folder of documents as a search engine. Patterns are the shell's, on a name or on a path below its folder."""

    folders: list[Path] = Field([], description="folders (or single files) to search, with all that lies below them")
    include: list[str] = Field(["*"], description="files to read, as far as a parser accepts their type")
    exclude: list[str] = Field(
        [".*", "~*", "*~", "node_modules", "__pycache__", "*.lock"], description="files and folders to pass over"
    )
    max_file_mb: float = Field(50, gt=0, description="larger files are passed over, and listed as problems")
    passage: int = Field(1000, ge=100, le=10_000, description="characters of a passage, the unit that is ranked")
    refresh: float = Field(30, ge=0, description="seconds until the folders are looked at again for changes")


def ready(settings: LocalSettings) -> str | None:
    """Say what is missing: a folder, or the one that was named."""
    if not settings.folders:
        return "no folder is given: --docs DIR or plugins.local.folders"
    missing = [str(folder) for folder in settings.folders if not folder.expanduser().exists()]
    return f"no such folder: {', '.join(missing)}" if missing else None
