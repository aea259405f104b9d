from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from leadline.errors import ConfigError
from leadline.records import Report
from leadline.testing.context import FakeCall
from leadline_plugins.formats.bibtex import Bibtex, escaped
from leadline_plugins.formats.citation_style import entries
from leadline_plugins.formats.csl import Csl
from leadline_plugins.formats.tree import text

STYLE = """<?xml version="1.0"?>
<style xmlns="http://purl.org/net/xbiblio/csl" version="1.0" class="in-text">
<info><title>x</title><id>x</id><updated>2024-01-01T00:00:00+00:00</updated></info>
<citation><layout><text variable="title"/></layout></citation>
<bibliography><layout>
<text variable="title" quotes="true"/><text variable="URL" prefix=", at "/>
</layout></bibliography>
</style>"""
CSL = {"type": "article-journal", "author": [{"family": "Li", "given": "A."}, {"literal": "R & D"}], "DOI": "10.1/x_y"}


def described(report: Report) -> Report:
    source = report.sources[0]
    first = source.model_copy(update={"hit": source.hit.model_copy(update={"csl": CSL})})
    return report.model_copy(update={"sources": (first, *report.sources[1:])})


async def test_csl_lists_all_sources_as_numbered(make_report: Callable[..., Report]) -> None:
    (file,) = (await Csl().format(described(make_report()), FakeCall())).files
    items = json.loads(file.data)
    assert [item["id"] for item in items] == [f"source-{n}" for n in range(1, 7)]
    assert items[0]["author"][0] == {"family": "Li", "given": "A."}
    assert items[0]["issued"] == {"date-parts": [[2024, 5, 1]]}
    assert items[1]["type"] == "webpage"


async def test_bibtex_has_the_data_of_the_engine(make_report: Callable[..., Report]) -> None:
    (file,) = (await Bibtex().format(described(make_report()), FakeCall())).files
    first = file.data.decode().split("\n\n")[0]
    assert first.startswith("@article{source-1,")
    assert r"author = {Li, A. and {R \& D}}" in first
    assert r"doi = {10.1/x\_y}" in first
    assert "year = {2024}" in first


def test_no_title_is_a_command_of_tex() -> None:
    assert escaped("\\input{x} 50% & $y$") == r"\textbackslash{}input\{x\} 50\% \& \$y\$"


async def test_references_follow_a_style_from_a_file(tmp_path: Path, make_report: Callable[..., Report]) -> None:
    pytest.importorskip("pypandoc", reason="needs pip install 'leadline[styles]'")
    (tmp_path / "mine.csl").write_text(STYLE)
    made = await entries(make_report(), str(tmp_path / "mine.csl"), FakeCall())
    assert text(made["s1"]) == "“Source 1,” at https://example.org/1"


@pytest.mark.parametrize("style", ["no-such-style", "../../etc/passwd", "gone.csl"])
async def test_an_unknown_style_is_reported(style: str, make_report: Callable[..., Report]) -> None:
    with pytest.raises(ConfigError, match="citation_style"):
        await entries(make_report(), style, FakeCall())
