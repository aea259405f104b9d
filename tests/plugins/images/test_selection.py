"""Which pictures belong to which section: by the words said of them, on pages that the section cites."""

from __future__ import annotations

from typing import Any

import pytest

from leadline.records import Document, Evidence, Hit, Image, Section, Source
from leadline_plugins.images.selection import Candidate, candidates, next_candidates

LEAD = "A lead line measures the depth of the harbour in fathoms"
TALLOW = "Tallow in the hollow of the lead brings up sand from the bottom"


def source(name: str, *images: Image, hit_images: tuple[str, ...] = (), title: str = "Soundings") -> Source:
    url = f"https://example.org/{name}"
    hit = Hit(url=url, title=title, images=hit_images)
    return Source(id=name, hit=hit, document=Document(text=f"{LEAD}. {TALLOW}.", images=images), task_id=f"t{name}")


def evidence(name: str, source_id: str, quote: str) -> Evidence:
    return Evidence(id=name, source_id=source_id, quote=quote, span=(0, len(quote)))


def picture(name: str, caption: str = "", alt: str = "") -> Image:
    return Image(url=f"https://example.org/{name}.jpg", caption=caption, alt=alt)


def section(name: str, *ids: str, title: str = "Depth") -> Section:
    return Section(id=name, title=title, text="\n\n".join(f"Something. [@{one}]" for one in ids))


def found(*sources: Source, sections: tuple[Section, ...] | None = None) -> list[Candidate]:
    items = (evidence("e1", "a", LEAD), evidence("e2", "a", TALLOW), evidence("e3", "b", LEAD))
    return candidates(sections or (section("s", "e1", "e2", "e3"),), items, {one.id: one for one in sources})


def of(candidates: list[Candidate], field: str) -> list[Any]:
    return [getattr(one.illustration, field) for one in candidates]


def test_a_picture_goes_to_the_passage_its_caption_is_about() -> None:
    images = picture("1", "Tallow in the hollow of a lead"), picture("2", alt="Lead line for the depth of a harbour")
    (first, second) = sorted(found(source("a", *images)), key=lambda one: one.illustration.url)
    assert (first.illustration.evidence_id, second.illustration.evidence_id) == ("e2", "e1")
    assert second.illustration.caption == second.illustration.alt == "Lead line for the depth of a harbour"
    assert (first.illustration.page, first.task_id) == ("https://example.org/a", "ta")


@pytest.mark.parametrize("number", ["Figure 4.12. ", "図4: ", "图 2-1　", "図 6.1 "])
def test_a_caption_has_no_number_of_its_page(number: str) -> None:
    assert of(found(source("a", picture("1", f"{number}{LEAD}"))), "caption") == [LEAD]


def test_what_has_other_words_belongs_nowhere() -> None:
    images = picture("1", "The editor in her garden"), picture("2", "Lead"), picture("3")
    assert found(source("a", *images)) == []


def test_a_page_that_is_not_cited_gives_no_picture() -> None:
    assert found(source("c", picture("1", LEAD))) == []
    assert len(found(source("b", picture("1", LEAD)))) == 1


def test_a_private_document_has_nothing_fetched_for_it() -> None:
    page = source("b", picture("1", LEAD))
    private = page.model_copy(update={"hit": Hit(url="file:///docs/soundings.html", title="Soundings")})
    assert (len(found(page)), found(private)) == (1, [])


def test_a_picture_without_a_word_has_the_title_of_its_page_and_counts_half() -> None:
    title = "Lead line and depth of the harbour"
    bare = source("a", hit_images=("https://example.org/bare.jpg", "data:image/png;base64,xx"), title=title)
    said = source("b", picture("said", title))
    assert of(found(bare, said), "url") == ["https://example.org/said.jpg", "https://example.org/bare.jpg"]
    assert of(found(bare), "caption") == [title]


def test_each_stands_once_and_the_best_of_every_section_comes_first() -> None:
    images = picture("1", LEAD), picture("2", "The depth of the harbour in fathoms, as measured"), picture("3", TALLOW)
    sections = section("s1", "e1"), section("s2", "e2", title="Tallow")
    both = found(source("a", *images), source("b", *images), sections=sections)
    assert of(both, "section_id") == ["s1", "s2", "s1"]
    assert of(both, "url") == [f"https://example.org/{n}.jpg" for n in (1, 3, 2)]


def test_chinese_captions_are_told_apart() -> None:
    page = source("a", picture("1", "测深锤的铅块与绳索"), picture("2", "编辑部的合影"))
    items = (evidence("e1", "a", "测深锤由铅块和绳索组成，用来测量水深。"),)
    assert of(candidates((section("s", "e1", title="测深锤"),), items, {"a": page}), "url") == [
        "https://example.org/1.jpg"
    ]


def test_the_next_to_try_fill_up_to_the_limits() -> None:
    images = [picture(str(n), f"{LEAD} {n}") for n in range(4)]
    waiting = found(source("a", *images[:3]), source("b", images[3]))
    first = next_candidates(waiting, [], limit=3, per_task=2)
    assert sorted(one.task_id for one in first) == ["ta", "ta", "tb"]
    assert next_candidates(waiting, first[:2], limit=2, per_task=9) == []
    left = [one for one in waiting if one not in first]
    assert len(left) == 1
    assert next_candidates(left, first, limit=9, per_task=2) == []
    assert next_candidates(left, first[:1], limit=9, per_task=2) == left
