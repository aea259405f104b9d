"""A third-party plugin of each kind, the documentation's example, installed as its own distribution, works in a run."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import distributions
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import leadline
from leadline.hookspecs import KINDS
from leadline.runs import Result

ROOT = Path(__file__).parents[2]
QUESTION = "When are default parameter values of a function evaluated?"
ANSWER = "Default parameter values are evaluated from left to right when the function"
Ask = Callable[..., Result]


@pytest.fixture
def ask(examples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask a question over three topics of the language reference, with settings written to a file."""
    monkeypatch.syspath_prepend(str(examples))
    docs = tmp_path / "docs"
    docs.mkdir()
    for name in ("function", "calls", "del"):
        (docs / f"{name}.rst").write_text(topics[name], encoding="utf-8")

    def ask(settings: str, question: str = QUESTION, **options: Any) -> Result:
        file = tmp_path / "leadline.toml"
        file.write_text(settings, encoding="utf-8")
        options = {"docs": docs, "folder": tmp_path / "runs", **options}
        return leadline.research_sync(question, settings=file, **options)

    return ask


def kept(result: Result, name: str) -> Any:
    return json.loads((result.folder / name).read_text(encoding="utf-8"))


def hits(result: Result) -> list[dict[str, Any]]:
    return [hit for found in kept(result, "search_results.json") for hit in found["hits"]]


def test_every_kind_has_an_example_of_at_most_25_lines() -> None:
    kinds = {path.name: list(path.glob("leadline_*.py")) for path in (ROOT / "examples" / "kinds").iterdir()}
    assert sorted(kinds) == sorted(KINDS)
    lengths = {
        file.name: len(file.read_text(encoding="utf-8").splitlines()) for files in kinds.values() for file in files
    }
    assert all(kinds.values())
    assert {name: length for name, length in lengths.items() if length > 25} == {}


def test_each_is_a_distribution_of_its_own_and_ready_or_lacks_only_a_setting(examples: Path, leadline_in: Any) -> None:
    installed = {item.name for item in distributions(path=[str(examples)])}
    listed = json.loads(leadline_in(examples, "plugins", "list", "--json").stdout)
    listed = [plugin for plugin in listed if plugin["distribution"] in installed]
    lacking = {plugin["name"]: plugin["lacks"] for plugin in listed if plugin["status"] != "ready"}
    assert all(" is not set: " in reason for reason in lacking.values()), lacking
    assert {kind for plugin in listed for kind in plugin["kinds"]} == set(KINDS)
    assert len({plugin["distribution"] for plugin in listed}) == len(KINDS) + 2


def chat(path: str, body: Any) -> tuple[int, str, str]:
    """Answer a plan in a code fence, and nothing else, as a small model would."""
    instructions = body["messages"][0]["content"]
    plan = {"title": "On defaults", "sections": [{"id": "1", "title": "Defaults", "questions": [QUESTION]}]}
    text = f"Here it is:\n```json\n{json.dumps(plan)}\n```" if '"domain"' in instructions else "I cannot."
    return 200, "application/json", json.dumps({"choices": [{"message": {"content": text}}]})


def test_ai_provider_for_one_task(ask: Ask, serve: Any) -> None:
    server = serve(chat)
    result = ask(f'[ai]\ntasks = {{ plan = "house_model:small" }}\n[plugins.house_model]\nurl = "{server.url}/v1"\n')
    assert result.status == "complete", result.reason
    assert kept(result, "plan.json")["title"] == "On defaults"
    assert [(path, body["model"]) for path, _, body in server.asked] == [("/v1/chat/completions", "small")]
    assert ANSWER in result.text


def test_ai_provider_first_in_the_chain(ask: Ask, serve: Any) -> None:
    server = serve(chat)
    result = ask(f'[ai]\nproviders = ["house_model", "embedded"]\n[plugins.house_model]\nurl = "{server.url}/v1"\n')
    assert (result.status, result.reason) == ("partial", "no model did synthesize: see the notices")
    assert kept(result, "plan.json")["title"] == "On defaults"
    assert len(server.asked) > 2, "every task is put to it first, and asked once more when the reply is no JSON"
    assert ANSWER in result.text


GLOSSARY = """term,url,text
Default parameter,https://glossary.example/default,"A default parameter is a value given where the function is defined."
"""


def test_search_provider(ask: Ask, tmp_path: Path) -> None:
    file = tmp_path / "glossary.csv"
    file.write_text(GLOSSARY, encoding="utf-8")
    result = ask(
        f'[search]\nengines = ["glossary"]\n[plugins.glossary]\nfile = "{file}"\n',
        "What is a default parameter?",
        docs=(),
    )
    assert result.status == "complete", result.reason
    assert {hit["url"] for hit in hits(result)} == {"https://glossary.example/default"}
    assert "A default parameter is a value given where the function is defined. [1]" in result.text


def test_the_tutorials_search_provider(ask: Ask, serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    page = {
        "url": "https://handbook.example/leave",
        "title": "Leave",
        "text": "Every employee has thirty days of leave.",
    }
    server = serve(lambda path, body: (200, "application/json", json.dumps({"pages": [page]})))
    monkeypatch.setenv("HANDBOOK_TOKEN", "a-token-for-the-test")
    result = ask(
        f'[search]\nengines = ["handbook"]\n[plugins.handbook]\nurl = "{server.url}"\n',
        "How many days of leave has an employee?",
        docs=(),
    )
    assert result.status == "complete", result.reason
    assert "Every employee has thirty days of leave. [1]" in result.text
    path, headers, _ = server.asked[0]
    assert urlsplit(path).path == "/search"
    assert parse_qs(urlsplit(path).query)["limit"] == ["10"]
    assert headers["Authorization"] == "Bearer a-token-for-the-test"


def test_the_tutorials_search_provider_without_its_token(ask: Ask) -> None:
    with pytest.raises(leadline.ConfigError, match=r"set HANDBOOK_TOKEN, or plugins\.handbook\.token in"):
        ask('[search]\nengines = ["handbook"]\n[plugins.handbook]\nurl = "http://127.0.0.1"\n', docs=())


def test_search_strategy(ask: Ask) -> None:
    result = ask('[search]\nengines = ["local", "echo"]\nstrategy = "take_turns"\n')
    assert result.status == "complete", result.reason
    first = kept(result, "search_results.json")[0]["hits"]
    assert [hit["engine"] for hit in first[:3]] == ["local", "echo", "local"]


def test_synthesizer(ask: Ask) -> None:
    result = ask('[research]\nsynthesizer = "bullets"\n[plugins.bullets]\nat_most = 2\n')
    assert result.status == "complete", result.reason
    assert result.report is not None
    lines = [line for section in result.report.sections for line in (section.text or "").splitlines()]
    assert lines
    assert all(line.startswith("- ") and line.endswith("]") for line in lines)
    assert len(result.report.sections[0].text.splitlines()) <= 2  # type: ignore[union-attr]


def probe(settings: str) -> str:
    """Return settings whose pipeline is the research pipeline with the tests' stage behind it."""
    return (
        f'pipeline = "probed"\n{settings}\n[pipelines.probed]\nextends = "research"\nafter = {{ write = ["probe"] }}\n'
    )


def test_chart_runner(ask: Ask) -> None:
    done = kept(ask(probe('[charts]\nrunner = "bars"')), "probe.json")
    assert done["drawn"].startswith("<svg ")
    assert "one &amp; only: 1" in done["drawn"]
    assert done["alt"] == "one & only: 1; two: 2"


def test_sandbox(ask: Ask) -> None:
    done = kept(ask(probe('[code]\nsandbox = "postfix"')), "probe.json")
    assert done["value"] == [14]
    assert "division by zero" in done["stderr"]


def test_embedder(ask: Ask) -> None:
    like, unlike = kept(ask(probe('[ai]\nembedder = "trigrams"')), "probe.json")["likeness"]
    assert like > unlike


def test_vector_store(ask: Ask, examples: Path, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text(
        '[ai]\nembedder = "trigrams"\n[knowledge]\nstore = "memory_store"\n', encoding="utf-8"
    )

    async def add_and_ask() -> Result:
        options: Any = {"pipeline": "knowledge", "settings": tmp_path / "leadline.toml", "folder": tmp_path / "runs"}
        async with leadline.Client(**options) as client:
            await client.knowledge.add(tmp_path / "docs" / "function.rst")
            return await client.research(QUESTION)

    result = asyncio.run(add_and_ask())
    assert result.status == "complete", result.reason
    assert ANSWER in " ".join(result.text.split())


def test_reranker_and_claim_judge(ask: Ask) -> None:
    settings = '[ai]\nreranker = "overlap"\n[verify]\njudges = ["careful"]'
    done = kept(ask(probe(settings)), "probe.json")
    assert done["scores"] == pytest.approx([1, 1 / 3, 0])
    assert done["verdicts"] == ["supported"]


FORMATS = ["markdown", "quotes_csv"]


@pytest.mark.parametrize("asked", [(f"[report]\nformats = {json.dumps(FORMATS)}\n", {}), ("", {"formats": FORMATS})])
def test_report_formatter(ask: Ask, asked: tuple[str, dict[str, Any]]) -> None:
    result = ask(asked[0], **asked[1])
    assert {"report.md", "quotes.csv"} <= set(result.metadata.files)
    with (result.folder / "quotes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert any(ANSWER in " ".join(row["quote"].split()) for row in rows)
    assert {Path(urlsplit(row["url"]).path).suffix for row in rows} == {".rst"}


def test_fetcher(ask: Ask, serve: Any, tmp_path: Path) -> None:
    page = "<html><body><article><h1>Leave</h1><p>Every employee has thirty days of leave.</p></article></body></html>"
    server = serve(lambda path, body: (200, "text/html; charset=utf-8", page))
    file = tmp_path / "glossary.csv"
    file.write_text("term,url,text\nleave,https://handbook.example/leave,\n", encoding="utf-8")
    settings = f"""
        [search]
        engines = ["glossary"]
        [read]
        fetchers = ["archive"]
        [plugins]
        glossary = {{ file = "{file}" }}
        archive = {{ url = "{server.url}" }}
    """
    result = ask(settings, "How many days of leave has an employee?")
    assert result.status == "complete", result.reason
    assert "Every employee has thirty days of leave. [1]" in result.text
    assert {path for path, _, _ in server.asked} == {"/page?url=https%3A%2F%2Fhandbook.example%2Fleave"}


MAIL = """From: anna@example.org
Subject: =?utf-8?q?The_caf=C3=A9teria?=
MIME-Version: 1.0
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

The cafeteria opens at half past eleven, and the caf=C3=A9 at eight.
"""


def test_parser(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "docs" / "cafeteria.eml").write_text(MAIL, encoding="ascii")
    result = ask('[read]\nparsers = ["mail", "text"]\n', "When does the cafeteria open?")
    assert result.status == "complete", result.reason
    assert "The cafeteria opens at half past eleven, and the café at eight. [1]" in result.text
    assert result.report is not None
    assert "The caféteria" in {source.hit.title for source in result.report.sources}


def test_map_stage_and_stage(ask: Ask, tmp_path: Path) -> None:
    for bridge, year in (("old", 1887), ("new", 1932)):
        text = f"The {bridge} bridge over the river was opened in {year}.\n"
        (tmp_path / "docs" / f"{bridge}_bridge.txt").write_text(text, encoding="utf-8")
    settings = """
        pipeline = "dated"
        [pipelines.dated]
        extends = "research"
        after = { extract = ["years"], write = ["timeline"] }
    """
    result = ask(settings, "When was the bridge over the river opened?")
    assert result.status == "complete", result.reason
    assert {item["year"] for item in kept(result, "years.json")} == {1887, 1932}
    timeline = (result.folder / "report.md").read_text(encoding="utf-8").partition("## Timeline")[2]
    assert 0 < timeline.index("- 1887: ") < timeline.index("- 1932: ")


def test_middleware(ask: Ask) -> None:
    settings = 'middleware = ["redact"]\n[search]\nengines = ["local", "echo"]\n'
    result = ask(settings, "Which default parameter values did anna@example.org ask about?")
    echoed = [hit["title"] for hit in hits(result) if hit["engine"] == "echo"]
    assert echoed
    assert not [title for title in echoed if "@" in title]
    assert any("@" in found["task"]["query"] for found in kept(result, "search_results.json"))


def test_observer(ask: Ask, serve: Any) -> None:
    server = serve(lambda path, body: (204, "text/plain", ""))
    result = ask(f'observers = ["jsonl", "webhook"]\n[plugins.webhook]\nurl = "{server.url}/runs"\n')
    assert [(path, body["run"], body["status"]) for path, _, body in server.asked] == [
        ("/runs", result.folder.name, "complete")
    ]


EVERYTHING = """
pipeline = "everything"
middleware = ["redact"]
observers = ["jsonl", "webhook"]

[ai]
providers = ["house_model", "embedded"]
embedder = "trigrams"

[search]
engines = ["local", "glossary", "handbook"]
strategy = "take_turns"

[read]
fetchers = ["local", "archive"]
parsers = ["text", "html", "mail"]

[research]
synthesizer = "bullets"

[report]
formats = ["markdown", "quotes_csv"]

[charts]
runner = "bars"

[code]
sandbox = "postfix"

[pipelines.everything]
extends = "research"
after = {{ extract = ["years"], write = ["probe", "timeline"] }}

[plugins]
house_model = {{ url = "{url}/v1" }}
glossary = {{ file = "{glossary}" }}
handbook = {{ url = "{url}", token = "a-token-for-the-test" }}
archive = {{ url = "{url}" }}
webhook = {{ url = "{url}/runs" }}
"""


def everything(path: str, body: Any) -> tuple[int, str, str]:
    """Answer whichever plugin asks."""
    if path.startswith("/v1"):
        return chat(path, body)
    if path.startswith("/search"):
        return 200, "application/json", '{"pages": []}'
    return 200, "text/html", "<p>A default parameter value is evaluated once.</p>"


def test_all_at_once_from_the_command_line(
    examples: Path, leadline_in: Any, serve: Any, ask: Ask, tmp_path: Path
) -> None:
    server = serve(everything)
    (tmp_path / "glossary.csv").write_text(GLOSSARY, encoding="utf-8")
    file = tmp_path / "leadline.toml"
    file.write_text(EVERYTHING.format(url=server.url, glossary=tmp_path / "glossary.csv"), encoding="utf-8")
    done = leadline_in(
        examples, "research", QUESTION, "--docs", str(tmp_path / "docs"), "--settings", str(file), "--json"
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["status"] == "complete", "the house's synthesizer writes, and asks no model"
    names = {Path(name).name for name in told["files"]}
    assert {"report.md", "quotes.csv", "plan.json", "years.json", "probe.json"} <= names
    assert {urlsplit(path).path for path, _, _ in server.asked} == {"/v1/chat/completions", "/search", "/runs"}


def test_command(examples: Path, leadline_in: Any, tmp_path: Path) -> None:
    texts = json.dumps([ANSWER])
    chosen = [
        "--set",
        "search.engines=pages",
        "--set",
        f"plugins.pages.texts={texts}",
        "--folder",
        str(tmp_path / "runs"),
    ]
    told = json.loads(leadline_in(examples, "research", QUESTION, *chosen, "--json").stdout)
    assert "cited       print the addresses that the report of a run cites" in leadline_in(examples, "--help").stdout
    done = leadline_in(examples, "cited", told["run"], "--folder", str(tmp_path / "runs"))
    assert (done.returncode, done.stdout) == (0, "https://pages.example/1\n"), done.stderr


def test_a_broken_plugin_is_left_out_and_the_rest_works_but_one_without_its_key_is_refused(
    examples: Path, leadline_in: Any, tmp_path: Path
) -> None:
    site = tmp_path / "site"
    info = site / "leadline_explodes-2.5.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: leadline-explodes\nVersion: 2.5\n")
    (info / "entry_points.txt").write_text("[leadline.v2]\nexplodes = leadline_explodes\n")
    (site / "leadline_explodes.py").write_text("raise RuntimeError('no licence file')")
    chosen = ["--set", "search.engines=explodes,pages", "--set", f"plugins.pages.texts={json.dumps([ANSWER])}"]
    done = leadline_in(site, "research", QUESTION, *chosen, "--json", PYTHONPATH=f"{site}{os.pathsep}{examples}")
    assert done.returncode == 0, done.stderr
    assert f"{ANSWER} [1]" in Path(json.loads(done.stdout)["report"]).read_text(encoding="utf-8")
    refused = leadline_in(examples, "research", QUESTION, "--set", "search.engines=handbook,pages", "--json")
    assert refused.returncode == 78
    assert "plugins.handbook.url" in refused.stderr
    assert "explodes is left out: plugin 'explodes' (leadline-explodes 2.5) cannot be imported: " in done.stderr
    assert "RuntimeError: no licence file" in done.stderr


def test_pip_installs_the_tutorials_project_as_it_stands(leadline_in: Any, tmp_path: Path) -> None:
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "install", "--target", str(site)]
    offline = ["--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, *offline, str(ROOT / "examples" / "plugin")], check=True)
    listed = json.loads(leadline_in(site, "plugins", "list", "--json").stdout)
    handbook = next(plugin for plugin in listed if plugin["name"] == "handbook")
    assert (handbook["distribution"], handbook["version"]) == ("leadline-handbook", "1.0")
    assert handbook["status"] == "incomplete"
    assert handbook["lacks"].startswith("plugins.handbook.url is not set: ")


async def test_a_benchmark_is_answered_line_by_line_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "evaluation"))
    main = import_module("deepresearch_bench").main
    (tmp_path / "function.rst").write_text(topics["function"], encoding="utf-8")
    settings, questions, answers = (tmp_path / name for name in ("leadline.toml", "query.jsonl", "articles.jsonl"))
    settings.write_text(
        f'[ai]\nproviders = ["embedded"]\n[search]\nengines = ["local"]\n[plugins.local]\n'
        f'folders = ["{tmp_path}"]\ninclude = ["*.rst"]\n'
        f'[runs]\nfolder = "{tmp_path / "runs"}"\n'
    )
    questions.write_text("\n".join(json.dumps({"id": number, "prompt": QUESTION}) for number in (1, 2, 3)) + "\n\n")
    answers.write_text(json.dumps({"id": 1, "prompt": QUESTION, "article": "known"}) + "\n")
    order = leadline.Client(settings=settings).order(QUESTION)
    (tmp_path / "articles.jsonl.orders").mkdir()
    (tmp_path / "articles.jsonl.orders" / "2.json").write_text(order.model_dump_json())
    assert await main(questions, answers, settings) == 0
    rows = [json.loads(line) for line in answers.read_text().splitlines()]
    assert sorted(row["id"] for row in rows) == [1, 2, 3]
    assert all(set(row) == {"id", "prompt", "article"} for row in rows)
    assert ANSWER in rows[1]["article"]
    assert (tmp_path / "runs" / order.run_id).is_dir(), "the run that was ordered before is the one that answers"
    assert await main(questions, answers, settings) == 0
    assert len(answers.read_text().splitlines()) == 3
