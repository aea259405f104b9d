"""The documentation holds: code runs, settings load, links lead somewhere, and nothing public is left out."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
from tests.settings_from import load_settings

import leadline
from leadline import records
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.plugins import PluginRuntime
from leadline.cli import main
from leadline.hookspecs import KINDS

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)


@pytest.fixture(scope="session")
def build() -> ModuleType:
    """Return the script that builds the site."""
    module = ModuleType("build")
    path = ROOT / "docs" / "build.py"
    module.__file__ = str(path)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


def test_what_a_page_takes_from_the_code_exists(page: Path, build: ModuleType) -> None:
    text = page.read_text(encoding="utf-8")
    for title in re.findall(r'^```\w+ title="(.+)"\n\.\.\.$', text, re.MULTILINE):
        assert build.quoted(title)
    for name in re.findall(r"^::: ([\w.]+)$", text, re.MULTILINE):
        module, _, own = name.rpartition(".")
        assert own in vars(import_module(module)) or hasattr(import_module(module), own) or import_module(name), name


def test_the_site_has_every_page_in_its_navigation(build: ModuleType) -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]

    def names(entry: Any) -> Iterator[str]:
        if isinstance(entry, str):
            yield entry
        else:
            for part in entry.values() if isinstance(entry, dict) else entry:
                yield from names(part)

    docs = ROOT / "docs"
    pages = {page for page in docs.rglob("*.md") if page.parent.name != "decisions"} | {docs / "decisions/README.md"}
    pages |= {*build.ELSEWHERE.values(), *(docs / name for name in build.GENERATED)}
    assert sorted(names(site["nav"])) == sorted(page.relative_to(docs).as_posix() for page in pages)


def test_the_site_loads_nothing_from_other_hosts() -> None:
    site = tomllib.loads((ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]
    loaded = [site["theme"]["font"], *site["extra_css"], *(each["path"] for each in site["extra"]["polyfills"])]
    assert loaded == [False, "assets/site.css", "assets/iframe-worker.js"]  # the name keeps Zensical's own out


def test_generated_pages_have_all_settings_prompts_commands_and_plugins(build: ModuleType) -> None:
    pages = {name: page() for name, page in build.GENERATED.items()}
    assert "| `search.engines` |" in pages["reference/settings.md"]
    assert "\n## verify_claim\n" in pages["reference/prompts.md"]
    assert "\n### leadline knowledge add\n" in pages["reference/commands.md"]
    assert "| `tavily` |" in pages["plugins/directory.md"]


@pytest.mark.parametrize("name", [name for name in records.__all__ if isinstance(getattr(records, name), type)])
def test_every_record_is_on_a_page(name: str) -> None:
    directive = f"::: leadline.records.{name}\n"
    assert any(directive in page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))


def test_what_works_of_the_systems_names_a_test_and_all_files_that_are_named_exist() -> None:
    text = (ROOT / "examples" / "systems" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|plugins)/[^`]+)`", text)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []
    claimed = [line for line in text.split("\n") if re.match(r"\|[^|]+\| works", line)]
    assert [line for line in claimed if "`tests/" not in line] == [], "what no test shows does not work"
    states = Counter(re.findall(r"(?m)^\|[^|]+\| (works|otherwise|there)\b", text))
    works, otherwise, there = states["works"], states["otherwise"], states["there"]
    counted = f"of {states.total()} items, {works} work, {otherwise} are otherwise and {there} is there"
    assert counted in text, counted


@pytest.mark.blocks(r"python\b.*")
def test_python_compiles(block: Any) -> None:
    compile(block.text, str(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.blocks("python run")
def test_python_marked_so_runs(block: Any, example_plugins: PluginCatalog, own_folders: Path) -> None:
    exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})


@pytest.mark.blocks(r"toml\b.*")
def test_toml_can_be_read(block: Any) -> None:
    if block.text != "...\n":  # quotes a file
        tomllib.loads(block.text)


def given(folder: Path) -> dict[str, Any]:
    """Return what stands around a settings file: the folders that the documentation names, and no other source."""
    for name in ("papers", "minutes", "letters", "~/notes"):
        Path(name).expanduser().mkdir()
        (Path(name).expanduser() / "note.md").write_text("A note.")
    (folder / "user.toml").write_text('[plugins.local]\nfolders = ["papers"]\n', encoding="utf-8")
    return {"cwd": folder, "user_file": folder / "user.toml"}


@pytest.mark.blocks("toml settings")
def test_settings_load_and_make_a_pipeline(block: Any, example_plugins: PluginCatalog, tmp_path: Path) -> None:
    file = tmp_path / "leadline.toml"
    file.write_text(block.text, encoding="utf-8")
    loaded = load_settings(example_plugins, file=file, environ={"HANDBOOK_TOKEN": "x"}, **given(tmp_path))
    assert not [notice for notice in loaded.notices if "left out" in notice]
    assert list(PluginRuntime(loaded).pipeline().steps())


@pytest.mark.blocks("yaml settings")
def test_yaml_settings_load(block: Any, example_plugins: PluginCatalog, tmp_path: Path) -> None:
    file = tmp_path / "leadline.yaml"
    file.write_text(block.text, encoding="utf-8")
    load_settings(example_plugins, file=file, environ={}, **given(tmp_path))


@pytest.mark.blocks("console")
def test_commands_are_commands(block: Any) -> None:
    from leadline.cli.commands import parse

    for command in re.findall(r"^\$ leadline (.*)$", block.text, re.MULTILINE):
        words = shlex.split(re.split(r" [|>] ", command)[0], comments=True)
        parse(words)


# Commands that need no model, network, server or earlier run; the others are parsed, and run by tests of their own.
RUNS = (
    r"(config|prompts|pipelines|memory list|runs list|explain|knowledge|mcp install|serve token|research .*--docs)\b.*"
)
NEEDS_MORE = "--pipeline|--settings|^research -"


def commands() -> list[str]:
    texts = (page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    found = {line.strip() for text in texts for line in re.findall(r"^\$ leadline ([^#\n]*)", text, re.MULTILINE)}
    return sorted(line for line in found if re.fullmatch(RUNS, line) and not re.search(NEEDS_MORE, line))


@pytest.mark.parametrize("command", commands())
def test_commands_run(command: str, own_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = own_folders / "work"
    for name in ("docs", "handbook", "letters", "minutes/2026", "notes", "papers", "../home/letters", "../home/papers"):
        (work / name).mkdir(parents=True)
        (work / name / "note.md").write_text(
            "# Depths\n\nPython decided: the harbour is sounded at the bridge of pier 7."
        )
    monkeypatch.chdir(work)
    if command.startswith("knowledge ask"):
        assert main(["knowledge", "add", "handbook"]) == 0
    assert main([re.sub("^~", str(own_folders / "home"), word) for word in shlex.split(command)]) == 0


def outline(transcript: str) -> tuple[list[str], list[str], list[str]]:
    """Return the parts of a transcript that are the same on every machine: steps, summary, the first passage.

    Figures, seconds and ids differ, and so do the further passages: they depend on the installed packages. A slow
    machine shows how many files were read.
    """
    steps = sorted(re.findall(r"^ +[\d.]+ s  (?!local:)(\w+)", transcript, re.MULTILINE))
    report, _, summary = transcript.partition("\n# ")[2].partition("\nQuestion  ")
    return steps, re.sub(r"\S*\d\S*", "#", summary).split(), report.partition("[1]")[0].split()


def test_the_transcript_of_the_demo_is_what_it_shows(own_folders: Path) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(
        block for block in re.findall(r"```text\n(.*?)^```", readme, re.DOTALL | re.MULTILINE) if "build/demo" in block
    )
    ran = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "offline_demo.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=True,
    )
    assert outline(ran.stdout) == outline(shown), "put what `make demo` shows into README.md"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    found = set()
    for heading in _HEADING.findall(page.read_text(encoding="utf-8")):
        words = re.sub(r"[^\w\- ]", "", heading.strip().lower())
        found.add(words.replace(" ", "-"))
    return found


def test_links_lead_somewhere(page: Path, build: ModuleType) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for link in _LINK.findall(text):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / unquote(path)).resolve() if path else page
        if target in {build.DOCS / name for name in build.GENERATED}:
            continue  # Zensical checks these
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_page_with_its_contract_an_example_its_test_and_its_settings(kind: str) -> None:
    text = (ROOT / "docs" / "plugins" / f"{kind}.md").read_text(encoding="utf-8")
    assert "\n## Contract\n\n::: leadline.contracts." in text
    for tutorial in re.findall(r"\]\((\.\./tutorial/[^)#]+)\)", text):
        text += (ROOT / "docs" / "plugins" / tutorial).read_text(encoding="utf-8")
    for file in (ROOT / "examples" / "kinds" / kind).glob("*.py"):
        assert f'title="examples/kinds/{kind}/{file.name}"\n...\n' in text
    assert "```toml settings\n" in text


def test_every_option_of_the_client_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    shown = re.search(r"^\| `Client\(\*, (.*)\)` \|", text, re.MULTILINE)
    assert shown
    assert re.findall(r"(\w+)=", shown[1]) == list(inspect.signature(leadline.Client).parameters)


@pytest.mark.parametrize("name", leadline.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| `(?:await )?{re.escape(name)}\b", text, re.MULTILINE), f"{name} has no row in the table"


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "docs/explanation/architecture.md"])
def test_the_maps_of_the_code_name_files_that_exist(name: str) -> None:
    tops = ("core/leadline", "core/leadline/_runtime", "core/leadline/_runtime/calls", "plugins/leadline_plugins")
    packages = [ROOT, *(ROOT / top for top in tops)]
    paths = re.findall(r"`([\w./-]+(?:/|\.py|\.toml|/\w+))`", (ROOT / name).read_text(encoding="utf-8"))
    missing = [path for path in paths if "NAME" not in path and not any((top / path).exists() for top in packages)]
    assert paths
    assert not missing
