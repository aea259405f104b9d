"""The store of documents: what counts, what a killed writer leaves, and the ranking of passages."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.hot_journal import journal_that_deletes

from leadline.records import Evidence
from leadline_plugins.documents.ranking import reordered, scored
from leadline_plugins.documents.store import DocumentStore, Entry
from leadline_plugins.documents.text_index import Damaged, IndexReader, Match


def passages(*texts: str, source: str = "") -> list[Evidence]:
    return [Evidence(id="", source_id=source, quote=text, span=(0, len(text))) for text in texts]


def entry(name: str, *texts: str, version: str = "1", title: str = "") -> Entry:
    return Entry(name, f"{name!a}-{version}", version, title, passages=passages(*texts))


def add(store: DocumentStore, *entries: Entry) -> None:
    store.expect(item.key for item in entries)
    store.add_texts(entries)
    store.replace(entries)


def found(store: DocumentStore, question: str) -> list[tuple[str, str]]:
    return [(name, match.passage.evidence.quote) for name, match in store.search(question, 10)]


def test_a_version_counts_from_its_row_on(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path)
    add(store, entry("a", "Old tallow."))
    new = entry("a", "New tallow.", version="2")
    store.expect([new.key])
    store.add_texts([new])  # here a writer may be killed
    assert found(store, "tallow") == [("a", "Old tallow.")]
    assert store.unused() == [new.key]
    store.replace([new])
    assert found(store, "tallow") == [("a", "New tallow.")]
    store.drop(store.unused())
    assert store.reader().size() == 1


def test_a_document_of_a_killed_writer_is_stored_once_when_repeated(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path)
    add(store, entry("a", "Tallow."))
    add(store, entry("a", "Tallow."))
    assert store.reader().size() == 1
    assert store.unused() == []


def test_removed_documents_are_not_found_before_they_are_dropped(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path)
    add(store, entry("a", "Tallow."), entry("b", "Tallow, too."))
    store.remove(["a"])
    assert found(store, "tallow") == [("b", "Tallow, too.")]
    assert store.count() == 1


def test_a_name_with_any_bytes_is_a_document(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path)
    add(store, entry("\udcff.txt", "Tallow."))
    assert [name for name, _ in found(store, "tallow")] == ["\udcff.txt"]


def test_a_missing_index_and_a_broken_table_are_damage(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path)
    add(store, entry("a", "Tallow."))
    store.check()
    for path in store.texts.iterdir():
        path.unlink()
    with pytest.raises(Damaged, match="full-text index is missing"):
        store.check()
    (tmp_path / "documents.sqlite").write_bytes(b"no database" * 500)
    with pytest.raises(sqlite3.DatabaseError):
        DocumentStore(tmp_path).check()


@pytest.mark.parametrize("attack", ["endless", "link", "deletes", "pipe"])
def test_a_table_of_somebody_else_is_damage(tmp_path: Path, attack: str) -> None:
    store, other = DocumentStore(tmp_path / "store"), tmp_path / "other"
    add(store, entry("a", "Tallow."))
    path = tmp_path / "store" / "documents.sqlite"
    other.write_text("of the user")
    match attack:
        case "endless":
            rows = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS id FROM r"
            with sqlite3.connect(path) as db:
                db.executescript(f"DROP TABLE unused; CREATE VIEW unused AS {rows}")
            db.close()
        case "deletes":
            path.with_name(f"{path.name}-journal").write_bytes(journal_that_deletes(other))
        case "link" | "pipe":
            path.unlink()
            path.symlink_to(other) if attack == "link" else os.mkfifo(path)
    with pytest.raises(sqlite3.DatabaseError, match=r"tables|links|names another|no regular"):
        DocumentStore(tmp_path / "store").check()
    assert other.read_text() == "of the user"


def test_a_title_and_a_heading_are_words_of_a_passage(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path)
    headed = passages("It is nine fathoms.")[0].model_copy(update={"path": ("Depth",), "lead": "Soundings:"})
    add(store, Entry("a", "a", "1", "Porto Alvo", passages=[headed]), entry("b", "A harbour."))
    for question in ("Porto Alvo", "depth", "soundings"):
        assert [name for name, _ in found(store, question)] == ["a"]


def test_a_document_that_the_best_passage_names_inherits_from_it(tmp_path: Path) -> None:
    store = DocumentStore(tmp_path)
    add(
        store,
        entry("band", "Black Sand is a band whose singer is Edda Holm.", title="Black Sand (band)"),
        entry("singer", "She was born in Varde.", title="Edda Holm"),
        *(entry(f"x{number}", f"A note on singers, number {number}.") for number in range(5)),
    )
    best = found(store, "Where was the singer of the band Black Sand born?")[:2]
    assert {name for name, _ in best} == {"singer", "band"}


def test_pages_are_ranked_as_documents_are_and_scores_of_engines_stay() -> None:
    pages = passages("Tallow on the lead.", "Nothing of it.", source="page")
    known = passages("From an engine.", source="hit")[0].model_copy(update={"score": 0.1})
    best = scored([*pages, known], {"page": "A page"}, "Which lead has tallow?", 10)
    assert [item.quote for item in best] == ["Tallow on the lead.", "From an engine."]
    assert 0.5 < best[0].score < 2.2, "a share of the weight of the question's words"
    assert best[1].score == 0.1


def test_meaning_reorders_passages_and_shows_as_many() -> None:
    ranked = [
        passage.model_copy(update={"score": score})
        for passage, score in zip(passages("a", "b", "c"), (1.0, 0.9, 0.2), strict=True)
    ]
    order = reordered(ranked, [0.1, 0.2, 0.9])
    assert [(item.quote, item.score) for item in order] == [("c", 1.0), ("b", 0.9), ("a", 0.2)]
    assert reordered(ranked, [0.5, 0.5, 0.5]) == ranked


def test_the_rarest_words_of_a_question_of_thousands_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every document that a passage names is looked up with them: a question of 20,000 characters took a minute."""
    common = " ".join(f"reed{number}" for number in range(1_000))
    asked, best = list[int](), IndexReader.best

    def counted(self: IndexReader, words: Sequence[str], *more: Any) -> list[Match]:
        asked.append(len(words))
        return best(self, words, *more)

    monkeypatch.setattr(IndexReader, "best", counted)
    known = passages(f"{common} mole", common, common)
    question = f"{common} mole {' '.join(f'absent{number}' for number in range(3_000))}"
    assert scored(known, {}, question, 1)[0].quote == known[0].quote
    assert max(asked) <= 200
