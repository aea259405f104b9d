from __future__ import annotations

import random
from typing import Any
from zlib import crc32

import pytest

from leadline.records import Document, Evidence, Hit, Source
from leadline.research_findings import Found, SearchTask, Unread
from leadline_plugins import duplicates
from leadline_plugins.canonical import source_id
from leadline_plugins.duplicates import copies, sketch
from leadline_plugins.stages.fetch import first_pages, without_duplicates
from leadline_plugins.stages.synthesize import without_copies


def prose(seed: int, words: int = 600) -> str:
    chance = random.Random(seed)
    return " ".join(f"word{chance.randrange(5_000)}" for _ in range(words))


def source(name: str, text: str, tier: int = 3) -> Source:
    return Source.model_validate(
        {"id": name, "hit": Hit(url=f"https://{name}.example/"), "document": Document(text=text), "tier": tier}
    )


async def test_a_copy_with_other_trimmings_is_one_page() -> None:
    text = prose(1)
    texts = [("a", text), ("b", prose(2)), ("c", f"By our correspondent. {text.upper()} Share this article.")]
    assert await copies(texts) == {"c": "a"}
    assert await copies([("c", text)], known={"a": text}) == {"c": "a"}


async def test_pages_of_one_form_with_other_figures_are_not() -> None:
    one = " ".join(
        f"In {year} the harbour of Varn measured {year * 7 % 97} fathoms at its mouth." for year in range(99)
    )
    other = " ".join(
        f"In {year} the harbour of Varn measured {year * 11 % 89} fathoms at its mouth." for year in range(99)
    )
    assert await copies([("a", one), ("b", other)]) == {}


@pytest.mark.parametrize("share", [0.5, 0.9])
async def test_a_part_is_no_copy_of_the_whole_until_it_is_nearly_all_of_it(share: float) -> None:
    text = prose(3, 2_000)
    part = " ".join(text.split()[: int(2_000 * share)])
    assert await copies([("whole", text), ("part", part)]) == ({"part": "whole"} if share > 0.85 else {})


async def test_chinese_counts_by_characters() -> None:
    chance = random.Random(4)
    text = "".join(chr(0x4E00 + chance.randrange(3_000)) for _ in range(500))
    assert await copies([("a", text), ("b", f"本報訊 {text}"), ("c", text[::-1])]) == {"b": "a"}


async def test_short_texts_are_copies_only_word_for_word() -> None:
    assert await copies(
        [("a", "The bay is 3 m deep."), ("b", "The bay is 4 m deep."), ("c", "the bay is 3 M deep")]
    ) == {"c": "a"}
    assert await copies([("a", ""), ("b", "")]) == {"b": "a"}


@pytest.mark.parametrize("text", [prose(9, 300), prose(10, 5_000), "one two three " * 900, prose(11, 270) * 20, ""])
def test_a_sketch_is_the_smallest_hashes_of_all(text: str) -> None:
    words = text.split()
    runs = [words[place : place + 8] for place in range(max(1, len(words) - 7))]
    hashes = {crc32(b"".join(crc32(word.encode()).to_bytes(4) for word in run)) for run in runs}
    assert list(sketch(text)) == sorted(hashes)[:256]


async def test_a_copy_of_a_page_is_noted_as_unread() -> None:
    text = prose(5)
    failed = Unread(id="x", url="https://x.example/", reason="HTTP 404")
    read: list[Source | Unread] = [source("a", text), failed, source("b", text), source("c", prose(6))]
    kept = await without_duplicates(read, [source("before", prose(6))])
    assert kept == [
        read[0],
        failed,
        Unread(id="b", url="https://b.example/", reason="it has the same text as https://a.example/"),
        Unread(id="c", url="https://c.example/", reason="it has the same text as https://before.example/"),
    ]


async def test_the_best_source_of_several_copies_is_cited() -> None:
    text = prose(7)
    sources = [source("blog", text), source("other", prose(8)), source("registry", text, tier=1)]
    evidence = tuple(
        Evidence(id=f"e{number}", source_id=one.id, quote=text[:5], span=(0, 5)) for number, one in enumerate(sources)
    )
    assert [item.source_id for item in await without_copies(evidence, sources)] == ["other", "registry"]


def test_one_page_under_two_addresses_is_chosen_once() -> None:
    urls = ("https://example.org/a?utm_source=x", "http://m.example.org/a/", "https://example.org/b")
    task = SearchTask(id="q", query="q")
    found = Found(id="q", task=task, hits=tuple(Hit(url=url) for url in urls))
    assert [hit.url for hit in first_pages(found, set(), 3)] == [urls[0], urls[2]]
    assert [hit.url for hit in first_pages(found, {"https://example.org/a"}, 3)] == [urls[2]]
    assert source_id(urls[0]) == source_id(urls[1]) != source_id(urls[2])


def test_sketches_are_the_same_on_every_machine() -> None:
    """A run is resumed and replayed elsewhere: what is a copy there must be one here."""
    assert list(sketch("one two three")) == [1509448567]
    assert list(sketch("one two three four five six seven eight nine")) == [3923637275, 4089470594]


async def test_earlier_pages_are_compared_with_new_ones_only() -> None:
    text, other = prose(9), prose(10)
    assert await copies([("new", text)], known={"a": text, "b": text, "c": other}) == {"new": "a"}
    assert await copies([("new", other)], known={"a": text, "b": text}) == {}


async def test_texts_of_one_length_are_told_apart() -> None:
    text = prose(11)
    assert await copies([("a", text)]) == {}
    assert await copies([("b", text[::-1])], known={"a": text}) == {}


async def test_copies_need_not_share_their_very_smallest_hash() -> None:
    text = prose(12)
    words = text.split()
    changed = (" ".join([*words[:place], "other", *words[place + 1 :]]) for place in range(len(words)))
    copy = next(one for one in changed if sketch(text)[0] not in sketch(one) and sketch(one)[0] not in sketch(text)[:1])
    assert await copies([("a", text), ("b", copy)]) == {"b": "a"}


async def test_a_text_travels_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To where it is looked at, which may be another process; after that its sketch does."""
    sent: list[Any] = []

    async def compute(do: Any, rows: Any, start: int) -> Any:
        sent.append(rows)
        return do(rows, start)

    monkeypatch.setattr(duplicates, "compute", compute)
    texts = [(name, prose(seed)) for name, seed in (("a", 101), ("b", 102), ("c", 101))]
    assert await copies(texts[:2]) == {}
    assert await copies(texts[1:], known=dict(texts[:1])) == {"c": "a"}
    assert sent == [[text for _, text in texts[:2]], [sketch(text) for _, text in (texts[0], *texts[1:])]]


async def test_sketches_are_forgotten_in_the_order_they_were_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_KEPT", {})
    monkeypatch.setattr(duplicates, "_MOST_KEPT", 2)
    texts = [(str(seed), prose(seed, 20)) for seed in range(3)]
    assert await copies(texts) == {}
    assert list(duplicates._KEPT.values()) == [sketch(text) for _, text in texts[1:]]
