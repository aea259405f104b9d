"""The settings of the plugin `web`."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from leadline.hookspecs import PluginSettings
from leadline_plugins.fetch.guard import PORTS, checked


class WebSettings(PluginSettings):
    """How pages are fetched, and what is let in."""

    allow: tuple[Annotated[str, AfterValidator(checked)], ...] = Field(
        (), description='Hosts of your own network to read on purpose: "127.0.0.1:8000", "wiki.corp", "10.0.0.0/8".'
    )
    ports: tuple[int, ...] = Field(PORTS, description="Ports that are asked.")
    robots: bool = Field(True, description="Whether robots.txt is obeyed.")
    agent: str = Field("", description="User-Agent; empty: leadline/VERSION.")
    size: int = Field(20_000_000, ge=1, description="Bytes of a page, unpacked.")
    seconds: float = Field(25.0, gt=0, description="Seconds for a page, redirects included.")
    redirects: int = Field(8, ge=0, description="Redirects that are followed.")
    per_host: int = Field(8, ge=1, description="Pages of one host at once.")
    fresh: float = Field(3600.0, ge=0, description="Seconds a kept page is used without asking whether it changed.")
    cache_size: int = Field(500_000_000, ge=0, description="Bytes of kept pages, shared by all runs; 0 keeps none.")
