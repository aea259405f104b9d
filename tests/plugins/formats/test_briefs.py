"""A brief claims nothing: no format, and not `verification.md`, calls it supported, passed or accepted."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.plugins.formats.test_formats import evidence, report

from leadline.contracts import Context
from leadline.records import Book, Report, SynthesisRequest
from leadline.research_findings import Audit
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.html import Html
from leadline_plugins.formats.json import Json
from leadline_plugins.formats.markdown import Markdown, sanitized
from leadline_plugins.formats.tree import text
from leadline_plugins.formats.typst import typst_blocks
from leadline_plugins.stages.audit import markdown
from leadline_plugins.stages.verify import verification
from leadline_plugins.verification.claims import report_statements
from leadline_plugins.writing.brief import brief

PRAISE = re.compile(r"supported|passed\b(?!\": null)|accepted\b(?!\": null)|Checks|claims? checked", re.IGNORECASE)


@pytest.fixture(params=["en", "zh", "ja", "ar"])
def shown(request: pytest.FixtureRequest) -> Report:
    given, passages = report("", language=request.param), (evidence("e1", "sea"), evidence("e2", "bay"))
    outline = given.sections[0].model_copy(update={"evidence_ids": tuple(item.id for item in passages)})
    order = SynthesisRequest(
        book=Book(outline=(outline,), evidence=passages, sources=given.sources),
        sections=(outline.id,),
        question="How deep is the sea, on warranty?",
        language=request.param,
    )
    method = {"queries": ["deep"], "engines": ["local"], "rounds": 1, "hits": 3, "sources_read": 3, "sources_used": 2}
    method |= {"failed_searches": [], "unread": [], "assumptions": [], "notices": []}
    metadata = {"created": "2026-11-28", "models": [], "method": method}
    return given.model_copy(update={"sections": (brief(order, outline),), "evidence": passages, "metadata": metadata})


def test_a_report_of_passages_alone_makes_no_statement(shown: Report) -> None:
    assert shown.quotes
    assert "warranty" in "".join(shown.missing_words)
    found = report_statements(shown)
    assert (found.claims, found.uncited, found.paragraphs) == ([], [], [])


@pytest.mark.parametrize("make", [Markdown, Html, Json])
async def test_no_format_judges_a_brief(
    shown: Report, make: Any, context: Context, make_call: Callable[..., Any]
) -> None:
    formatter = make(context) if make is Html else make()
    files = (await formatter.format(shown, make_call())).files
    written = files[0].data.decode()
    assert "warranty" in written
    if make is Markdown and shown.language == "en":
        assert "nobody has checked" in written
        assert "writer" not in written
    if make is Json:
        assert json.loads(written)["sections"][0]["quotes"] is True
    body = re.sub(r"<style.*?</style>|<script.*?</script>", "", written, flags=re.DOTALL)
    assert PRAISE.findall(body) == []


def test_the_notice_is_grey_in_every_document(shown: Report) -> None:
    for medium, style in ((Medium(screen=True), []), (Medium(), [["custom-style", "Subtitle"]])):
        blocks = document(shown, medium).blocks
        [notice] = [block for block in blocks if block["t"] == "Div" and block["c"][0][1] == ["about"]]
        assert notice["c"][0][2] == style
        assert text(notice).strip("*") in (shown.sections[0].text or "")
    assert "#notice[" in json.dumps(list(typst_blocks(blocks)), ensure_ascii=False)


def test_verification_md_says_that_nothing_was_judged(shown: Report) -> None:
    checks = verification(shown, require_support=True)
    assert (checks.passed, checks.report_passed, checks.grounds) == (None, None, ())
    page = markdown(shown, Audit(accepted=None), checks)
    assert "**Passages found, not judged**" in page
    assert page.index("warranty") < page.index("not judged")
    assert PRAISE.findall(page) == []


def test_a_link_that_leads_nowhere_keeps_its_words_and_code_its_brackets() -> None:
    assert sanitized("See [the plugin](../x.md), [web](https://x.org/) and `[a](b)`.") == (
        "See the plugin, [web](https://x.org/) and `[a](b)`."
    )
