"""Which file of a folder is which source of a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.verification.external_reports import CitedSource
from leadline_plugins.verification.report_sources import match_files

FOLDER = Path("sources")


def source(key: str, text: str = "", urls: tuple[str, ...] = ()) -> CitedSource:
    return CitedSource(key=key, text=text, urls=urls)


def files(*names: str) -> list[Path]:
    return sorted(FOLDER / name for name in names)


def found(entry: CitedSource, *names: str) -> str:
    paths, problems = match_files([entry], files(*names), FOLDER)
    return paths[entry.key].name if entry.key in paths else problems[entry.key]


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        (source("3", "Soundings, 1831"), "03-depths.txt"),
        (source("^3"), "03-depths.txt"),
        (source("4", "On the survey of the bay, 1831"), "survey of the bay.md"),
        (source("4", "Depths", ("https://example.org/a/run_007.md",)), "run_007.md"),
        (source("4", "Depths", ("https://example.org/a/run_007",)), "run_007.md"),
        (source("4", "Depths. file:///elsewhere/run_007.md"), "run_007.md"),
        (source("4", "Depths", ("https://example.org/run%5F007.md?download=1#top",)), "run_007.md"),
        (source("3", "Depths", ("https://example.org/run_007.md",)), "run_007.md"),
    ],
)
def test_a_file_is_found_by_address_number_or_title(entry: CitedSource, name: str) -> None:
    assert found(entry, "03-depths.txt", "survey of the bay.md", "run_001.md", "run_007.md") == name


def test_a_file_at_the_address_of_one_source_is_not_taken_for_another_by_its_number() -> None:
    one, other = source("1", "Depths"), source("5", "Soundings", ("https://example.org/1-soundings.html",))
    paths, problems = match_files([one, other], files("1-soundings.html"), FOLDER)
    assert {key: path.name for key, path in paths.items()} == {"5": "1-soundings.html"}
    assert problems == {"1": "no file in sources is named as its number, title or address"}


def test_what_several_addresses_end_with_names_no_file() -> None:
    sources = [source("1", "Depths", ("https://a.org/index.html",)), source("2", "Fish", ("https://b.org/index.html",))]
    assert match_files(sources, files("index.html"), FOLDER)[0] == {}


@pytest.mark.parametrize(
    ("key", "name"),
    [("10", "10-K_Bay_Company_2023.txt"), ("3", "3d-printing.md"), ("1", "1.5-degrees.md"), ("10", "10.1000_182.pdf")],
)
def test_a_number_within_a_name_is_that_of_no_source(key: str, name: str) -> None:
    assert found(source(key, "Fish"), name).startswith("no file")


@pytest.mark.parametrize("name", ["7.pdf", "[7] Soundings.html", "07-title.md", "7_2019_title.md", "7-a-title.md", "7"])
def test_a_number_by_itself_is_that_of_its_source(name: str) -> None:
    assert found(source("7", "Fish"), name) == name


def test_addresses_are_told_apart_by_their_query() -> None:
    urls = ("https://v.example.org/watch?v=AA", "https://v.example.org/watch?v=BB")
    sources = [source(str(at), "A film", (url,)) for at, url in enumerate(urls, start=1)]
    paths, _ = match_files(sources, files("2.txt", "watch.txt"), FOLDER)
    assert {key: path.name for key, path in paths.items()} == {"2": "2.txt"}
    paths, _ = match_files(sources, files("watch?v=AA", "watch?v=BB.html"), FOLDER)
    assert [path.name for path in paths.values()] == ["watch?v=AA", "watch?v=BB.html"]


@pytest.mark.parametrize("end", ["1706.03762", "1706.03762v5", "20230415"])
@pytest.mark.parametrize("suffix", ["", ".txt", ".pdf"])
def test_a_number_that_names_something_is_the_end_of_an_address(end: str, suffix: str) -> None:
    assert found(source("4", "Attention", (f"https://example.org/abs/{end}",)), end + suffix) == end + suffix


def test_of_two_files_of_a_number_none_is_chosen_unless_they_are_one_document() -> None:
    said = found(source("4", "Survey of the bay"), "4.txt", "4-other.md")
    assert said == "2 files in sources fit: 4-other.md, 4.txt; name only one as its number, 4"
    assert found(source("4", "Survey of the bay"), "4.html", "4.pdf") == "4.html"
    said = found(source("https://example.org/", "Survey of the bay"), "bay.md", "survey.md")
    assert said.endswith("fit: bay.md, survey.md; name only one as its address")


@given(st.sets(st.integers(0, 999), min_size=1, max_size=8))
def test_each_of_many_that_differ_by_number_is_found_by_its_address(numbers: set[int]) -> None:
    names = [f"run_{number:03}.md" for number in sorted(numbers)]
    sources = [source(str(at), "A run", (f"https://example.org/{name}",)) for at, name in enumerate(names, start=1)]
    paths, _ = match_files(sources, files(*names), FOLDER)
    assert [path.name for path in paths.values()] == names
