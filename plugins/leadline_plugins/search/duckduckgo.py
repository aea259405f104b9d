"""The engine `duckduckgo`: results of DuckDuckGo without a key, from its page for browsers without scripts.

The library ddgs sends the request like a browser. The page is parsed here, because ddgs does not distinguish an empty
result from a block, and returns no dates.
"""

from __future__ import annotations

import re
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from pydantic import Field

from leadline.contracts import Call, Context
from leadline.errors import BadReply, RateLimited, Unavailable
from leadline.plugin import Limits, search_provider
from leadline.records import Hit, SearchPage, SearchRequest
from leadline_plugins.search.filters import Dates, Domains, either, following, page_start, with_sites
from leadline_plugins.search.results import hit
from leadline_plugins.service_errors import read_refusal

_NAME = "DuckDuckGo"
_REGIONS = {
    "de": "de-de", "en": "wt-wt", "es": "es-es", "fr": "fr-fr", "it": "it-it", "ja": "jp-jp", "ko": "kr-kr",
    "nl": "nl-nl", "pl": "pl-pl", "pt": "pt-pt", "ru": "ru-ru", "zh": "cn-zh", "zh-hk": "hk-tzh", "zh-tw": "tw-tzh",
    "zh-hant": "tw-tzh",
}  # fmt: skip
_SHUT = "it takes this machine for a robot; wait, ask less often ([limits] duckduckgo), or choose an engine with a key"
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?=T)")
_CLASS = "contains(concat(' ', normalize-space(@class), ' '), ' %s ')"
_HITS = f"//div[{_CLASS % 'result'}][not({_CLASS % 'result--ad'})][.//a[{_CLASS % 'result__a'}]]"


class DuckDuckGoSettings(Domains, Dates):
    """DuckDuckGo's options; sites are chosen by operators in the query."""

    base_url: str = Field("https://html.duckduckgo.com/html/", description="the address of the page")
    region: str = Field("", description="such as jp-jp or us-en; default: that of the question's language")
    time_range: Literal["", "d", "w", "m", "y"] = Field("", description="greatest age of a page, if no dates are set")


@search_provider(
    "Web search by DuckDuckGo, without a key",
    settings=DuckDuckGoSettings,
    requires=("ddgs=leadline[duckduckgo]",),
    limits=Limits(at_once=2, interval=1.0),
)
class DuckDuckGo:
    """Reads the page, in threads: ddgs blocks."""

    def __init__(self, settings: DuckDuckGoSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._ddgs: Any = None

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        """Return the results, advertisements left out. Raises `RateLimited` where the door is shut."""
        page = page_start(request.cursor)
        seconds = max(call.remaining(), 0.001)
        hits = await self._context.in_thread(self._search, request, page, seconds)
        return SearchPage(hits=hits[: request.limit], cursor=following(page, hits, request.limit))

    def _search(self, request: SearchRequest, page: int, seconds: float) -> tuple[Hit, ...]:
        from ddgs.exceptions import DDGSException, TimeoutException

        engine, settings = self._engine(), self._settings
        form = engine.build_payload(
            with_sites(request.query, settings), self._region(request.language), "moderate", self._span(), page
        )
        try:
            answer = engine.http_client.request(
                "POST", settings.base_url, data=form, timeout=seconds, follow_redirects=False
            )
        except TimeoutException as error:
            raise Unavailable(f"{_NAME}: no answer in time") from error
        except DDGSException as error:
            cause = type(error.__cause__ or error).__name__
            raise Unavailable(f"{_NAME}: no connection ({cause})") from error
        if answer.status_code == 202:
            raise RateLimited(f"{_NAME}: rate limit reached (HTTP 202): {_SHUT}")
        if answer.status_code != 200:
            headers = {name.lower(): value for name, value in answer._resp.headers.items()}
            raise read_refusal(answer.status_code, answer.content, headers).error(_NAME)
        return _read(answer.text)

    def _engine(self) -> Any:
        if self._ddgs is None:
            from ddgs.engines.duckduckgo import Duckduckgo

            self._ddgs = Duckduckgo()
        return self._ddgs

    def _region(self, language: str) -> str:
        code = either("", language).lower()
        return self._settings.region or _REGIONS.get(code) or _REGIONS.get(code.partition("-")[0], "wt-wt")

    def _span(self) -> str | None:
        since, until = self._settings.since, self._settings.until
        if since or until:
            return f"{since or '1990-01-01'}..{until or '2099-12-31'}"
        return self._settings.time_range or None


def _read(page: str) -> tuple[Hit, ...]:
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        root = html.document_fromstring(page)
    except (etree.ParserError, ValueError) as error:
        raise BadReply(f"{_NAME}: the reply is not HTML") from error
    hits = tuple(filter(None, map(_hit, root.xpath(_HITS))))
    if not hits and root.xpath("//form[contains(@id, 'challenge')]|//*[contains(@class, 'anomaly')]"):
        raise RateLimited(f"{_NAME}: rate limit reached: {_SHUT}")
    if not hits and not root.xpath(f"//*[{_CLASS % 'serp__results'} or contains(@class, 'no-result')]"):
        raise BadReply(f"{_NAME}: the reply is not a page of results; its format may have changed, so update leadline")
    return hits


def _hit(result: Any) -> Hit | None:
    link = result.xpath(f".//a[{_CLASS % 'result__a'}]")[0]
    address = _target(link.get("href", ""))
    if not address.startswith(("https://", "http://")) or "duckduckgo.com/y.js" in address:
        return None
    snippet = result.xpath(f".//*[{_CLASS % 'result__snippet'}]")
    dates = _DATE.findall(" ".join(result.xpath(f".//*[{_CLASS % 'result__extras'}]//span/text()")))
    return hit(
        address,
        link.text_content(),
        snippet[0].text_content() if snippet else "",
        published=dates[0] if dates else None,
    )


def _target(href: str) -> str:
    """Return the target of a link, which DuckDuckGo redirects to count clicks."""
    parts = urlsplit(f"https:{href}" if href.startswith("//") else href)
    if (parts.hostname or "").endswith("duckduckgo.com") and parts.path == "/l/":
        return parse_qs(parts.query).get("uddg", [""])[0]
    return parts.geturl()
