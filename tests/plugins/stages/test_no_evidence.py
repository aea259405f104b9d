"""Why there is no evidence, told by what happened."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.contracts import Call
from leadline.errors import Refused
from leadline.plugin import middleware
from leadline.records import Document, Failure, FetchRequest, Hit, Source
from leadline.research_findings import Found, Question, SearchTask, Unread
from leadline.testing.fakes import fake_web
from leadline.testing.plugins import plugin
from leadline_plugins.stages.synthesize import no_evidence

ASKED = Question(text="Who pays?")
HIT = Hit(url="https://example.org/")
DOWN = Failure(kind="search", provider="alpha", category="NETWORK", type="Unavailable", message="HTTP 503")


def found(number: int, **brought: Any) -> Found:
    return Found(id=f"q{number}", task=SearchTask(id=f"q{number}", query="ports"), **brought)


def unread(number: int, reason: str) -> Unread:
    return Unread(id=f"s{number}", url="https://example.org/", reason=reason)


@pytest.mark.parametrize(
    ("searches", "pages", "said"),
    [
        ((), (), "nothing was found for: Who pays?"),
        ((found(1),), (), "nothing was found for: Who pays?"),
        ((found(1, failure="HTTP 401"), found(2, failure="x")), (), "every search failed (2); the first: HTTP 401"),
        (
            (found(1), found(2, failure="HTTP 401")),
            (),
            "nothing was found for: Who pays?; 1 of 2 searches failed; the first: HTTP 401",
        ),
        (
            (found(1, engine_failures=(DOWN,)), found(2, engine_failures=(DOWN,))),
            (),
            "nothing was found for: Who pays?; alpha failed in 2: HTTP 503",
        ),
        ((found(1, hits=(HIT,)),), (), "nothing that can be cited was found for: Who pays?"),
        (
            (found(1, hits=(HIT,)),),
            (unread(1, "HTTP 404"),),
            "none of the 1 pages found could be read; the first: HTTP 404",
        ),
        (
            (found(1, hits=(HIT,)),),
            (unread(1, "HTTP 404"), unread(2, "HTTP 500")),
            "none of the 2 pages found could be read; the first: HTTP 404",
        ),
    ],
)
def test_the_reason_is_what_happened(searches: tuple[Found, ...], pages: tuple[Unread, ...], said: str) -> None:
    assert no_evidence(ASKED, searches, (), pages) == said


def test_pages_that_say_nothing_of_it_were_found() -> None:
    source = Source(id="s1", hit=HIT, document=Document(text="The weather."))
    assert no_evidence(ASKED, (found(1),), (source,), ()).startswith("none of the 1 pages read has any text")


class Rule:
    """A middleware that lets no address pass but the allowed ones."""

    live = True

    def __init__(self, allows: Callable[[str], bool]) -> None:
        self._allows = allows

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        if isinstance(request, FetchRequest) and not self._allows(request.url):
            raise Refused("not this address")
        return await proceed(request)


async def ruled(folder: Path, allows: Callable[[str], bool]) -> leadline.Result:
    rule = plugin("rule", middleware("For a test")(lambda: Rule(allows)))
    values = {"search.engines": ["fakeweb"], "read.fetchers": ["fakeweb"], "middleware": ["rule"]}
    plugins = [fake_web(), rule]
    async with leadline.Client(plugins=plugins, folder=folder / "r", cache=folder / "c", set=values) as runs:
        return await runs.research("How deep was the harbour measured at each sounding, in fathoms?")


async def test_a_page_that_is_refused_costs_no_other(tmp_path: Path) -> None:
    first = await ruled(tmp_path, lambda _: True)
    assert first.report
    urls = {source.hit.url for source in first.report.sources}
    barred = min(urls)
    second = await ruled(tmp_path / "ruled", lambda url: url != barred)
    assert second.report
    assert second.status == "partial", "what was refused is told"
    assert {source.hit.url for source in second.report.sources} >= urls - {barred}
    assert barred not in {source.hit.url for source in second.report.sources}


async def test_the_reason_names_the_refusal_of_every_page(tmp_path: Path) -> None:
    result = await ruled(tmp_path, lambda _: False)
    assert (result.status, result.exit_code) == ("failed", 1), "there may be evidence"
    assert "could be read" in result.reason
    assert "not this address" in result.reason
