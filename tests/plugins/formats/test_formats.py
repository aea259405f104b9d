from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from leadline.citations import number
from leadline.records import Document, Evidence, Hit, Report, Section, Source
from leadline.settings import Settings
from leadline.testing.context import FakeCall
from leadline_plugins.formats.csl import csl_items
from leadline_plugins.formats.document import Medium, document
from leadline_plugins.formats.markdown import Markdown
from leadline_plugins.formats.tree import text as content
from leadline_plugins.verification.reports.reader import read_report
from leadline_plugins.wording.phrases import languages, phrase


def source(name: str, title: str = "") -> Source:
    text = f"The {name} is deep. It is wide."
    return Source(
        id=name, hit=Hit(url=f"https://example.org/{name}", title=title or name), document=Document(text=text)
    )


def evidence(name: str, of: str) -> Evidence:
    quote = f"The {of} is deep."
    return Evidence(id=name, source_id=of, quote=quote, span=(0, len(quote)))


def report(text: str, **changes: Any) -> Report:
    whole = Report(
        title="How deep?",
        language="en",
        sections=(Section(id="1", title="Depth", text=text),),
        sources=(source("bay"), source("lake", "The lake\nof old"), source("sea")),
        evidence=(evidence("e1", "sea"), evidence("e2", "bay"), evidence("e3", "sea")),
    )
    return whole.model_copy(update=changes)


class Run:
    def __init__(self, **settings: Any) -> None:
        self.settings = Settings.model_validate({"report": settings})


async def rendered(given: Report, **settings: Any) -> dict[str, str]:
    call = FakeCall()
    call.run = Run(**settings)
    files = (await Markdown().format(given, call)).files
    return {file.name: file.data.decode() for file in files}


async def test_sources_are_numbered_by_their_first_citation() -> None:
    text = (await rendered(report("Deep. [@e1] Wide. [@e2][@e3]\n\nDeep again [@e3].")))["report.md"]
    assert "Deep. [1] Wide. [2][1]\n\nDeep again [1]." in text
    cited, additional = text.split("## Additional Sources (Not Cited)")
    listed = cited.split("## Cited Sources (Used in Report)")[1]
    assert listed.index("[1] sea - <https://example.org/sea>") < listed.index("[2] bay - <https://example.org/bay>")
    assert "[3] The lake of old - <https://example.org/lake>" in additional
    assert "- Cited: 2 of 3 sources (67%)" in additional


async def test_a_citation_before_a_colon_is_escaped_only_where_it_would_define_a_link() -> None:
    text = (await rendered(report("Two are deep [@e1]:\n\n- one\n\n[@e1]: https:x")))["report.md"]
    assert "Two are deep [1]:\n" in text
    assert "\n\n [1]\\: https:x" in text


async def test_a_marker_that_points_nowhere_does_not_survive() -> None:
    text = (await rendered(report("Deep [@e1][@gone]. Wide [@gone].")))["report.md"]
    assert "Deep [1]. Wide." in text
    assert "gone" not in text


async def test_the_lists_are_left_out_or_in_a_separate_file() -> None:
    assert "Sources" not in (await rendered(report("Deep [@e1]."), references=False))["report.md"]
    files = await rendered(report("Deep [@e1]."), resource_file=True)
    assert "Sources" not in files["report.md"]
    assert files["references.md"].startswith("## Cited Sources (Used in Report)")


async def test_the_method_names_failures_in_the_language_of_the_report() -> None:
    method = {
        "queries": ["a", "b"],
        "rounds": 2,
        "engines": ["web"],
        "hits": 7,
        "sources_read": 3,
        "failed_searches": [{"query": "b", "reason": "HTTP 503"}],
        "unread": [{"url": "https://example.org/x", "reason": "HTTP 404"}],
        "assumptions": [],
    }
    english = (await rendered(report("Deep [@e1].", metadata={"method": method})))["report.md"]
    assert "2 rounds of searches: 2 queries on web returned 7 results; 3 sources were read." in english
    assert "1 search failed: b (HTTP 503)." in english
    assert "1 source could not be read: https://example.org/x (HTTP 404)." in english
    chinese = (await rendered(report("Deep [@e1].", metadata={"method": method}, language="zh")))["report.md"]
    assert "## 研究方法" in chinese
    assert "1 次检索失败：b（HTTP 503）" in chinese.replace(" (", "（").replace(")", "）")


@pytest.mark.parametrize("language", languages())
async def test_verify_reads_the_lists_of_a_report_in_each_language(language: str) -> None:
    known = [source(name).model_copy(update={"hit": Hit(url=f"file:///{name}", title=name)}) for name in ("sea", "bay")]
    given = report("Deep. [@e1] Wide. [@e2]", language=language, sources=(*known, source("lake")))
    found = read_report((await rendered(given))["report.md"])
    assert [entry.text.split(" - ")[0] for entry in found.entries.values()] == ["sea", "bay", "lake"]
    assert [mark.keys for mark in found.marks] == [("1",), ("2",)]
    assert not list(found.dangling())


ASSUMED = "it is the harbour in the usual sense"


@pytest.mark.parametrize(("language", "said"), [("en", f"Assumed: {ASSUMED}."), ("zh", f"假设：{ASSUMED}。")])
async def test_an_assumption_appears_once_and_notices_are_marked_as_english(language: str, said: str) -> None:
    method = {
        "queries": ["a"],
        "rounds": 1,
        "engines": ["web"],
        "hits": 1,
        "sources_read": 1,
        "failed_searches": [],
        "unread": [],
        "assumptions": [ASSUMED],
        "notices": [f"it is shorter than 20 characters: assumed: {ASSUMED}", "no charts were drawn"],
    }
    text = (await rendered(report("Deep [@e1].", metadata={"method": method}, language=language)))["report.md"]
    assert said in text
    assert text.count("sense") == 1
    assert "No charts were drawn." in text
    assert ("（英文）：No charts" in text) is (language == "zh")
    if language == "en":
        assert "1 round of searches: 1 query on web returned 1 result; 1 source was read." in text


@pytest.mark.parametrize("language", languages())
async def test_nothing_around_a_report_is_in_another_language(language: str) -> None:
    text = (await rendered(report("Deep [@e1].", language=language)))["report.md"]
    headings = [line[3:] for line in text.split("\n") if line.startswith("## ")]
    assert headings == ["Depth", *(phrase(name, language) for name in ("cited", "additional", "statistics"))]
    assert ("Cited Sources (Used in Report)" in headings) is (language == "en")
    assert ("sources" in text.split("## ")[-1]) is (language in ("en", "fr"))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("很深。 [@e1]很宽", "很深。[1]很宽"),
        ("很深 [@e1]。", "很深[1]。"),
        ("「深い」[@e1]と", "「深い」[1]と"),
        ("他说“很深。” [@e1]", "他说“很深。”[1]"),
        ("**很深。** [@e1]", "**很深。**[1]"),
        ("깊다. [@e1]", "깊다. [1]"),
        ("Deep. [@e1]", "Deep. [1]"),
        ("90% [@e1]。", "90% [1]。"),
        ("伤亡（[@e1]）。", "伤亡[1]。"),
        ("伤亡（[@e1]、[@e2]）。", "伤亡[1][2]。"),
        ("Deep ([@e1]). Wide ([@e1], [@e2]).", "Deep [1]. Wide [1][2]."),
        ("Deep (see [@e1]).", "Deep (see [1])."),
        ("Deep ([@gone]).", "Deep."),
        ("A [link]([@e1])", r"A [link]\([1])"),
    ],
)
async def test_brackets_around_marks_follow_the_script(written: str, said: str) -> None:
    text = (await rendered(report(written)))["report.md"]
    assert text.split("## Depth\n\n")[1].startswith(f"{said}\n\n")
    if "link" not in written:
        shown = content(document(report(written), Medium()).blocks[1])
        assert shown.replace("\u00a0", " ") == said.replace("*", "")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("file:///d/01-%E5%81%A5%E4%BF%9D.md", "01-健保.md"),
        ("local://local/d/01-%E5%81%A5%E4%BF%9D.md", "d/01-健保.md"),
        ("local://papers/d/e/a%20b%25-%C3%BC.md", "d/e/a%20b%25-ü.md"),
        ("local://papers/d/%FF%E5.md", "d/%FF%E5.md"),
        ("knowledge://shared/0a1b/%E5%81%A5%20%E4%BF%9D.md", "健 保.md"),
        ("local://papers/d/%E2%80%AEgnp.md", "d/%E2%80%AEgnp.md"),
        ("https://example.org/%E5%81%A5", "https://example.org/%E5%81%A5"),
    ],
)
async def test_references_name_the_file_in_its_folder_and_nothing_above(url: str, said: str) -> None:
    known = source("bay").model_copy(update={"hit": Hit(url=url, title="T")})
    given = report("Deep [@e2].", sources=(known,))
    assert f"T - {said}" in content(document(given, Medium()).blocks)
    text = (await rendered(given))["report.md"]
    assert f"T - {said}" in text or f"T - <{said}>" in text
    assert csl_items(given)[0]["URL"] == said


def test_numbering_ignores_evidence_whose_source_is_gone() -> None:
    numbered = number(report("Deep [@e1].", sources=(source("bay"),)))
    assert numbered.cited == ()
    assert numbered.render("Deep [@e1].") == "Deep."


async def test_figures_follow_their_mention_as_files_or_inline(
    make_report: Callable[..., Report], make_call: Callable[..., FakeCall]
) -> None:
    files = (await Markdown().format(make_report(), make_call())).files
    text = files[0].data.decode()
    assert [file.name for file in files[1:]] == ["figures/figure-1.png", "figures/figure-2.png"]
    assert text.index("Figure 1 shows") < text.index("(figures/figure-1.png)") < text.index("### Soundings")
    assert "*Figure 1. A plane.* [5]" in text
    (inline,) = (await Markdown().format(make_report(), make_call(figures="inline"))).files
    assert inline.data.count(b"](data:image/png;base64,") == 2


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("Testing {{Shared Memories}}\nof {{Old}}", "Testing Shared Memories of Old"),
        (r"Through $\{$Inter-Function$\}$ sharing", "Through Inter-Function sharing"),
        ("What {} means in C, and {1, 2}", "What {} means in C, and {1, 2}"),
    ],
)
async def test_titles_of_catalogs_have_no_braces_of_bibtex(title: str, said: str) -> None:
    given = report("Deep. [@e1]", sources=(source("bay"), source("sea", title)))
    assert f"[1] {said} - <" in (await rendered(given))["report.md"]
    assert f"[1] {said} - https" in content(document(given, Medium()).blocks)
