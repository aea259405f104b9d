"""Gemini's grounding in Google's search. It names pages by redirects that expire, so each is asked where it leads."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from leadline.contracts import Call, Context
from leadline.errors import ProviderError
from leadline.records import Hit, SearchRequest, Usage
from leadline_plugins.search.http import Api
from leadline_plugins.search.model.settings import ModelSettings
from leadline_plugins.search.model.vendors import api, asked, bare, listed
from leadline_plugins.search.results import hit, joined

REDIRECTS = "https://vertexaisearch.cloud.google.com"
"""Only addresses that begin so are asked: what the model says must not choose where this machine asks."""


class Gemini:
    """Asks a model of Google's."""

    def __init__(self, settings: ModelSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._api = api("Gemini", settings, context, "x-goog-api-key")
        self._redirects = Api("Google", context, REDIRECTS)  # without the key: it is another service

    async def search(self, request: SearchRequest, call: Call, /) -> Sequence[Hit]:
        """Return the pages that the reply rests on, with the sentences that do."""
        body = {"contents": [{"role": "user", "parts": [{"text": asked(request)}]}], "tools": [{"googleSearch": {}}]}
        found = await self._api.post(f"/models/{self._settings.asked}:generateContent", body, call)
        if isinstance(told := found.get("usageMetadata"), dict):
            call.spend(_usage(told))
        candidates = listed(found, "candidates")
        if not candidates:
            raise self._api.bad("the answer holds no candidate")
        grounding = candidates[0].get("groundingMetadata")
        pages = [_page(one) for one in listed(grounding, "groundingChunks")]
        said = _said(listed(grounding, "groundingSupports"))
        urls = await asyncio.gather(*(self._target(bare(page.get("uri")), call) for page in pages))
        return [
            hit(url, str(page.get("title") or ""), joined(said.get(place, ()), " "))
            for place, (url, page) in enumerate(zip(urls, pages, strict=True))
            if url
        ]

    async def _target(self, url: str, call: Call) -> str:
        """Return where a redirect leads; itself where that cannot be learnt, and for any other address."""
        if not url.startswith(f"{REDIRECTS}/"):
            return url
        try:
            return bare(await self._redirects.location(url.removeprefix(REDIRECTS), call)) or url
        except ProviderError as error:
            self._context.log.info("a page of Gemini's keeps its redirect: %s", error)
            return url


def _page(chunk: Mapping[str, Any]) -> Mapping[str, Any]:
    web = chunk.get("web")
    return web if isinstance(web, dict) else {}


def _said(supports: Sequence[Mapping[str, Any]]) -> dict[int, list[str]]:
    """Return what was said by the place of the page that it rests on."""
    said: dict[int, list[str]] = {}
    for one in supports:
        segment, places = one.get("segment"), one.get("groundingChunkIndices")
        text = segment.get("text") if isinstance(segment, dict) else None
        for place in places if isinstance(places, list) and isinstance(text, str) else ():
            said.setdefault(place, []).append(str(text))
    return said


def _usage(told: Mapping[str, Any]) -> Usage:
    prompt, tools, output, thoughts = (
        count if isinstance(count := told.get(f"{name}TokenCount"), int) else 0
        for name in ("prompt", "toolUsePrompt", "candidates", "thoughts")
    )
    return Usage(input_tokens=prompt + tools, output_tokens=output + thoughts, reasoning_tokens=thoughts)
