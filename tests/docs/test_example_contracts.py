"""The example plugins, under any name, fulfil the contract of their kind; so does what `plugins new` writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.loading import Plugin
from leadline.cli import main
from leadline.cli.plugins import example
from leadline.hookspecs import KINDS, PluginSettings
from leadline.testing.contracts import CommandContract
from leadline.testing.servers import scripted_server

EXAMPLES = Path(__file__).parents[2] / "examples"


class TestCommand(CommandContract):
    @pytest.fixture
    def command(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
        info = tmp_path / "leadline_cited-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text("[leadline.commands]\ncited = leadline_cited\n", encoding="utf-8")
        for path in (EXAMPLES / "commands", tmp_path):
            monkeypatch.syspath_prepend(str(path))
        return "cited"


def output_of_tests(folder: Path, *files: Path, paths: tuple[Path, ...]) -> str:
    """Run tests in a process of their own and return its output."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([*map(str, paths), *filter(None, sys.path)])}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-o",
        "asyncio_mode=auto",
        "-c",
        os.devnull,
    ]
    options = [
        "-o",
        "asyncio_mode=auto",
        "-o",
        "asyncio_default_fixture_loop_scope=function",
        "--rootdir",
        str(folder),
        *map(str, files),
    ]
    done = subprocess.run([*command, *options], env=environ, capture_output=True, text=True, cwd=folder, timeout=100)
    return done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.slow
def test_examples_under_other_names_fulfil_their_contracts(tmp_path: Path) -> None:
    files = []
    for kind in KINDS:
        module, text, test = example(kind, f"acme_{kind}")
        assert "acme" in test
        assert kind != "stages" or r"\b(?:1[5-9]|20)\d\d\b" in text
        (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
        files.append(tmp_path / f"test_{module}.py")
        files[-1].write_text(test, encoding="utf-8")
    examples = [EXAMPLES / "kinds/search_providers", EXAMPLES / "kinds/stages"]  # `plugins new` has others of the kind
    files += [examples[0] / "test_glossary.py", examples[1] / "test_timeline.py"]
    output = output_of_tests(tmp_path, *files, paths=(tmp_path, *examples))
    assert " passed" in output
    assert "failed" not in output, output
    assert "error" not in output, output


# What `plugins new` tells to write, which keeps the defaults.
CHOSEN = {
    "parser": 'parsers = ["acme", "text", "html", "feed", "pdf", "word", "office"]',
    "claim_judge": 'judges = ["acme", "exact", "model"]',
    "observers": 'observers = ["jsonl", "acme"]',
    "reranker": 'reranker = "acme"',
    "map_stage": 'pipeline = "mine"\n\n[pipelines.mine]\nextends = "research"\nbefore = { export = ["acme"] }\n\n[',
}


def test_a_project_is_written_that_its_test_accepts_and_the_command_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["plugins", "new", "search_provider", "acme_wiki", "--project"]) == 0
    folder = tmp_path / "leadline-acme-wiki"
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert files == {
        *("pyproject.toml", "README.md", "leadline_acme_wiki.py", "tests/test_acme_wiki.py"),
        ".github/workflows/test.yml",
    }
    assert 'acme_wiki = "leadline_acme_wiki"' in (folder / "pyproject.toml").read_text()
    assert 'engines = ["acme_wiki"]' in capfd.readouterr().out
    assert main(["plugins", "new", "search_provider", "acme_wiki", "--project"]) == 64
    assert "leadline-acme-wiki/pyproject.toml exists" in capfd.readouterr().err
    for kind, chosen in CHOSEN.items():
        assert main(["plugins", "new", kind, "acme"]) == 0
        assert chosen in capfd.readouterr().out
        (tmp_path / "acme.py").unlink()
    assert main(["plugins", "new", "search_provder", "acme"]) == 64
    assert "did you mean 'search_providers'?" in capfd.readouterr().err


@pytest.fixture
def settings_of_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Return the settings with which `plugins check` would run the tests of a new search provider."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("LEADLINE_TRUST", "1")

    received = []

    def check(plugin: Plugin, settings: PluginSettings, *, live: bool) -> int:
        received.append(settings)
        return 0

    monkeypatch.setattr("leadline.testing.check.check", check)

    def settings(*options: str) -> Any:
        assert main(["plugins", "check", *options]) == 0
        return received[-1]

    return settings


def test_check_reads_the_section_of_a_file_and_fills_what_is_required(
    settings_of_check: Callable[..., Any], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "new", "search_provider", "acme_one"]) == 0
    output = capfd.readouterr().out
    assert 'use = "./acme_one.py"\nurl = "…"  # str\n# token: in the variable ACME_ONE_TOKEN' in output
    assert settings_of_check("acme_one.py").url == "https://service.example"
    assert settings_of_check("acme_one.py", "--set", "plugins.acme_one.url=http://a.example").url == "http://a.example"
    section = '[plugins.acme_two]\nuse = "./acme_one.py"\nurl = "http://b.example"\n'
    (tmp_path / "leadline.toml").write_text(section)
    assert settings_of_check("acme_two").url == settings_of_check("acme_one.py").url == "http://b.example"
    (tmp_path / "other.toml").write_text('plugin_folder = "."\n[plugins.acme_one]\nurl = "http://c.example"\n')
    assert settings_of_check("acme_one", "--settings", "other.toml").url == "http://c.example"
    assert main(["plugins", "check", "acme_two", "--live"]) == 64
    assert "plugins.acme_two.token is not set" in capfd.readouterr().err
    file = tmp_path / "acme_one.py"
    file.write_text(file.read_text().replace("url: str", "url: str\n    size: int"))
    assert main(["plugins", "check", "acme_two"]) == 64
    assert "in leadline.toml; or here: --set plugins.acme_two.size=…" in capfd.readouterr().err


def test_check_without_pytest_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("leadline.cli.plugins.find_spec", lambda name: None)
    assert main(["plugins", "check", "wikipedia"]) != 0
    error = capfd.readouterr().err
    assert "needs pytest, which Leadline does not install: pip install pytest pytest-asyncio" in error


def check_in_process_of_its_own(folder: Path, file: str, *options: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "leadline", "plugins", "check", file, *options]
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, cwd=folder, timeout=100)
    return done.returncode, done.stdout + done.stderr


GET, RETURN = "        reply = await self._http.get(", "        return ["
MISTAKES = {
    "sleep": (
        "search_providers",
        GET,
        f"        __import__('time').sleep(0.6)\n{GET}",
        "blocked the event loop",
        "sleep.py:16, in search",
    ),
    "sync": (
        "search_providers",
        GET,
        f"        __import__('httpx').get('https://a.example')\n{GET}",
        "makes a synchronous request",
        "sync.py:16, in search",
    ),
    "verb": (
        "search_providers",
        "def search",
        "def find",
        "has no method `search`: write `async def search(self, …)`",
        "",
    ),
    "typo": (
        "search_providers",
        "Hit(**page)",
        "Hit(titel='', **page)",
        "no field 'titel'",
        "typo.py:17; did you mean 'title'?",
    ),
    "leak": (
        "search_providers",
        GET,
        f"        self.c = __import__('httpx').AsyncClient()\n{GET}",
        "leaves open",
        "leak.py:16, in search",
    ),
    "held": (
        "search_providers",
        f'{GET}"/search", params={{"q": request.query, "limit": request.limit}})',
        "        try:\n          reply = await self._http.get('')\n        except BaseException:\n          return []",
        "although it was cancelled at",
        "held.py:17, in search",
    ),
    "told": (
        "search_providers",
        "        return [Hit",
        "        print(self._http.headers['Authorization'])\n        return [Hit",
        "a secret is in what it",
        "(`search` at told.py:",
    ),
    "key": (
        "search_providers",
        RETURN,
        f"        {{}}['b']\n{RETURN}",
        "raised KeyError: 'b' at",
        "key.py:17, in search",
    ),
    "role": ("ai_providers", '="assistant"', '="user"', "the role of the reply is 'user'", "(`chat` at role.py:"),
    "field": ("ai_providers", "message=Message", "text=Message", "no field 'text'", "field.py:19"),
    "reads": (
        "stages",
        RETURN,
        f"        findings.get(Key('x', int))\n{RETURN}",
        "reads 'x', but its offer needs",
        "(`map` at ",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_check_finds_mistakes_of_a_plugin_and_names_their_lines(tmp_path: Path, name: str) -> None:
    kind, before, after, *words = MISTAKES[name]
    _, text, _ = example(kind, "acme")
    assert before in text
    (tmp_path / f"{name}.py").write_text(text.replace(before, after))
    code, output = check_in_process_of_its_own(tmp_path, f"{name}.py")
    assert code == 1, output
    assert "failed: " in output
    assert all(word in output.replace(f"{tmp_path}/", "") for word in words), output


STAGE = """
from leadline.plugin import EVIDENCE, Findings, StageRun, stage

@stage("Asks", needs=(EVIDENCE,))
class Asks:
    async def run(self, findings: Findings, run: StageRun, /) -> None:
        await run.ask("Go on?", {"type": "object"})
"""


@pytest.mark.slow
def test_check_leaves_out_what_a_stage_asks_its_run_for(tmp_path: Path) -> None:
    (tmp_path / "acme.py").write_text(STAGE)
    code, output = check_in_process_of_its_own(tmp_path, "acme.py")
    assert code == 0, output
    assert re.search("left out: it answers .*: it asks its run for 'ask', which needs requests", output)


@pytest.mark.slow
def test_check_says_why_a_reply_to_the_faked_answer_failed(tmp_path: Path) -> None:
    _, text, _ = example("ai_providers", "acme")
    fault = "        raise __import__('leadline').plugin.BadReply('no usage')\n        return ChatReply"
    (tmp_path / "acme.py").write_text(text.replace("        return ChatReply", fault))
    code, output = check_in_process_of_its_own(tmp_path, "acme.py")
    assert code == 0
    assert re.search(r"left out: it answers, .*: BadReply: no usage at .*acme\.py:\d+, in chat: may come from", output)


ASKS_A_SERVICE = """
from leadline.plugin import Embeddings, PluginSettings, Ranking, embedder, reranker
SETTINGS = type("Own", (PluginSettings,), {"__annotations__": {"url": str}})

class Service:
    def __init__(self, settings, context):
        self._http = context.http(base_url=settings.url)

    async def ask(self, texts):
        reply = await self._http.post("/", json={"input": {"texts": list(texts)}, "model": "m"})
        return reply.raise_for_status().json()["results"]

@embedder("By a service", settings=SETTINGS)
class Embeds(Service):
    async def embed(self, request, call, /):
        return Embeddings(vectors=[(float(item["vector"]),) for item in await self.ask(request.texts)])

@reranker("By a service", settings=SETTINGS)
class Ranks(Service):
    async def rerank(self, request, call, /):
        return Ranking(scores=[item["score"] for item in await self.ask(request.texts)])
"""


@pytest.mark.slow
async def test_check_answers_an_embedder_and_a_reranker_with_as_many_items_as_they_send(tmp_path: Path) -> None:
    (tmp_path / "acme.py").write_text(ASKS_A_SERVICE)
    code, output = check_in_process_of_its_own(tmp_path, "acme.py")
    assert (code, " passed" in output, "it answers" in output) == (0, True, False), output
    async with scripted_server({"/": {"results": [{"vector": 0.5, "score": 0.5}]}}) as server:
        live = ("--live", "--set", f"plugins.acme.url={server.url}")
        code, output = check_in_process_of_its_own(tmp_path, "acme.py", *live)
    assert (code, len(server.paths)) == (1, 2), output
    assert "it answers a real request: returns 1 vectors for 5 texts" in output


@pytest.mark.slow
def test_check_accepts_what_new_writes_and_names_what_it_leaves_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, name in (("search_provider", "acme"), ("report_formatter", "slides")):
        assert main(["plugins", "new", kind, name]) == 0
        assert f"leadline plugins check {name}.py" in capfd.readouterr().out
        code, output = check_in_process_of_its_own(tmp_path, f"{name}.py")
        assert (code, " passed" in output, "failed" in output) == (0, True, False), output
    assert "left out: its secrets stay inside: its settings have no secret" in output
    file = tmp_path / "acme.py"
    file.write_text(file.read_text().replace('.json()["pages"]', '.json()["pages"].no_list()'))
    code, output = check_in_process_of_its_own(tmp_path, "acme.py")
    assert (code, "`--live` makes one real call" in output) == (0, True), output
    file.write_text("def broken(:")
    monkeypatch.setattr(sys, "path", [*sys.path])
    assert main(["plugins", "check", "acme.py"]) == 78
    assert "plugin 'acme' (acme.py in" in (error := capfd.readouterr().err)
    assert "cannot be imported: acme.py raised SyntaxError" in error
