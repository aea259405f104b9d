"""What a team adds to its exports: front matter, tables as data, and files from templates of its own."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import yaml

import leadline
from leadline.errors import ConfigError
from leadline.records import Report, Section, Table
from leadline.templates import render_file
from leadline.testing.context import fake_context
from leadline.testing.fakes import fake_web, quoting
from leadline_plugins.formats.tables import Tables, _csv, _safe
from leadline_plugins.formats.template import Template, TemplateSettings
from leadline_plugins.verification.claims import tables_of
from leadline_plugins.verification.reports.reader import read_report

TABLE = (
    "Depths by year [@e1].\n\n### Soundings\n\n| Year | Depth |\n|---|---|\n| 1907 | 9 [@e1] |\n| 1911 | =1+1 [@e1] |"
)
ASKED = "Fathoms of the harbour measured at sounding 3"


def report() -> Report:
    return quoting(TABLE, "It is deep [@e1].", quotes=["The harbour is 9 fathoms deep."])


def client(folder: Path, **values: Any) -> leadline.Client:
    settings = {
        "ai.providers": ["embedded"],
        "search.engines": ["fakeweb"],
        "read.fetchers": ["fakeweb"],
        "report.formats": ["markdown", "json"],
    } | {name.replace("__", "."): value for name, value in values.items()}
    return leadline.Client(plugins=[fake_web()], folder=folder / "runs", cache=folder / "cache", set=settings)


def test_tables_of_the_text_are_data_with_the_passages_of_each_row() -> None:
    (table,) = tables_of(report())
    assert (table.id, table.title, table.columns) == ("table-1", "Soundings", ("Year", "Depth"))
    assert table.rows == (("1907", "9"), ("1911", "=1+1"))
    assert table.evidence_ids == (("e1",), ("e1",))
    assert tables_of(report().model_copy(update={"sections": (Section(id="1", title="x", text="Deep."),)})) == ()


async def test_the_format_tables_writes_csv_without_formulas_and_json(call: Any) -> None:
    whole, one = (await Tables().format(report().model_copy(update={"tables": tables_of(report())}), call)).files
    assert (whole.name, one.name) == ("tables.json", "tables/table-1.csv")
    assert json.loads(whole.data)[0]["rows"] == [["1907", "9"], ["1911", "=1+1"]]
    rows = list(csv.reader(io.StringIO(one.data.decode("utf-8-sig"))))
    assert rows == [["Year", "Depth"], ["1907", "9"], ["1911", "'=1+1"]]


@pytest.mark.parametrize(
    "cell",
    [
        *("=1+1", "+a", "-a", "@x", "\t=1", "|x", "\uff1d1+1", "\uff0b1+1", "\uff20SUM(1)", "\uff0d1+1"),
        *('text;=A1("a";"b")', 'text; "=A1"', "text\n=1", "a;\t@x"),
    ],
)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_separates_cells(cell: str, separator: str) -> None:
    table = Table(id="t", section_id="1", columns=("a", "b"), rows=((cell, "x"), ("x", cell)))
    rows = csv.reader(io.StringIO(_csv(table).data.decode("utf-8-sig")), delimiter=separator)
    assert not [one for row in rows for one in row if unicodedata.normalize("NFKC", one.strip())[:1] in tuple("=+-@|")]


@pytest.mark.parametrize("cell", ["", "-5", "+3.2%", "−1,000", "–", "“x”", '"x"', "(3)", "€5", "< 5", "*", "x;y", "是"])
def test_numbers_and_words_stay_as_they_are(cell: str) -> None:
    assert _safe(cell) == cell


async def test_front_matter_names_the_run_and_is_no_part_of_the_report(tmp_path: Path) -> None:
    async with client(tmp_path, markdown__front_matter=True) as runs:
        result = await runs.research(ASKED)
    text = (result.folder / "report.md").read_text()
    head, _, rest = text.removeprefix("---\n").partition("---\n")
    facts = yaml.safe_load(head)
    assert (facts["question"], facts["pipeline"], facts["language"]) == (ASKED, "research", "en")
    assert facts["trace_id"] == result.metadata.trace_id
    assert facts["run_id"] == result.metadata.run_id
    assert str(facts["date"])[:10] == result.metadata.began.date().isoformat()
    assert rest.lstrip().startswith("# ")
    assert read_report(text).title == read_report(rest).title
    assert len(read_report(text).marks) == len(read_report(rest).marks)


async def test_a_template_of_ones_own_renders_the_report(tmp_path: Path) -> None:
    (tmp_path / "head.j2").write_text("<h1>{{ title }}</h1>")
    path = tmp_path / "letter.html.j2"
    path.write_text(
        "{% include 'head.j2' %}\n"
        "{% for one in sections %}<h2>{{ one.title }}</h2>{{ one.text | markdown }}{% endfor %}"
        "{% for one in cited %}[{{ one.number }}] {{ one.url }}{% endfor %}{{ metadata.question }}"
    )
    values = {"report__formats": ["template", "json"], "template__file": str(path)}
    async with client(tmp_path, **values) as runs:
        result = await runs.research(ASKED)
    assert result.status == "complete", result.reason
    text = (result.folder / "letter.html").read_text()
    assert ASKED in text
    assert "[1] https://example.org/" in text
    assert "[@" not in text


async def test_the_filter_markdown_shows_formulas_scripts_and_citations(tmp_path: Path, call: Any) -> None:
    (tmp_path / "a.html.j2").write_text(
        "{% for section in sections %}{{ section.text | markdown }}{% endfor %}{{ '[@e1]' | markdown }}"
    )
    template = Template(TemplateSettings(file=str(tmp_path / "a.html.j2")), fake_context(tmp_path))
    (file,) = (await template.format(quoting("H<sub>2</sub>O and $x^2$ [@e1].", quotes=["It is deep."]), call)).files
    shown = file.data.decode()
    assert "<p>H<sub>2</sub>O and <math" in shown
    assert shown.endswith("[1].</p>\n<p>[1]</p>\n")
    assert "<msup>" in shown


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ titel }}", "'titel' is undefined"),
        ("{% for one in sections %}", "line 1"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% include '/etc/passwd' %}", "passwd"),
        ("{{ 1 / 0 }}", "zero"),
    ],
)
def test_a_mistake_in_a_template_is_named_and_nothing_unsafe_is_done(tmp_path: Path, template: str, said: str) -> None:
    path = tmp_path / "letter.txt.j2"
    path.write_text(template)
    with pytest.raises(ConfigError) as refused:
        render_file(path, {"sections": [], "title": "Depth"})
    assert said in str(refused.value)
    assert "letter.txt.j2" in str(refused.value)


def test_values_are_escaped_in_html_and_only_there(tmp_path: Path) -> None:
    for name, shown in (("a.html.j2", "&lt;b&gt;"), ("a.md.j2", "<b>")):
        (tmp_path / name).write_text("{{ title }}")
        assert render_file(tmp_path / name, {"title": "<b>"}) == shown


async def test_a_missing_template_is_refused_before_the_run(tmp_path: Path) -> None:
    async with client(tmp_path, report__formats=["template"], template__file="nowhere.html.j2") as runs:
        with pytest.raises(ConfigError, match="there is no file nowhere.html.j2"):
            await runs.research(ASKED)


def test_a_prompt_may_be_a_template_that_adds_to_the_built_in_one(tmp_path: Path) -> None:
    path = tmp_path / "plan.j2"
    path.write_text("{{ builtin }}\n- Write British English{% if report.form == 'long' %}, at length{% endif %}.")
    loaded = client(tmp_path, prompts__plan=str(path), report__form="long").load()
    text = loaded.settings.prompts["plan"]
    assert text.startswith("Plan a research report")
    assert text.endswith("- Write British English, at length.\n")
    assert not [notice for notice in loaded.notices if "prompts.plan" in notice]


def test_a_mistake_in_a_prompt_template_is_an_error_of_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "plan.j2"
    path.write_text("{{ question }}")
    with pytest.raises(ConfigError, match=r"prompts\.plan: .*'question' is undefined"):
        client(tmp_path, prompts__plan=str(path)).load()
