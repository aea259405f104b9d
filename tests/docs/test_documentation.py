"""The documentation holds: code runs, settings load, links lead somewhere, and nothing public is left out."""

from __future__ import annotations

import ast
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote

import pytest
from tests.settings_from import load_settings

import leadline
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.plugins import PluginRuntime
from leadline.hookspecs import KINDS

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$", re.MULTILINE)


@pytest.fixture(scope="session")
def generate() -> ModuleType:
    """Return the script that fills in what the documentation quotes."""
    module = ModuleType("generate")
    path = ROOT / "docs" / "generate.py"
    module.__file__ = str(path)
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), module.__dict__)
    return module


def test_quoted_blocks_are_what_they_quote(page: Path, generate: ModuleType) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == generate.filled(text), "run: python docs/generate.py"


def test_what_works_of_the_systems_names_a_test_and_all_files_that_are_named_exist() -> None:
    text = (ROOT / "examples" / "systems" / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:tests|plugins)/[^`]+)`", text)
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []
    works = [line for line in text.split("\n") if re.match(r"\|[^|]+\| works", line)]
    assert [line for line in works if "`tests/" not in line] == [], "what no test shows does not work"


def test_the_reference_of_the_prompts_is_up_to_date(generate: ModuleType) -> None:
    assert generate.PROMPTS.read_text(encoding="utf-8") == generate.prompts_page(), "run: python docs/generate.py"


def test_the_reference_of_the_settings_is_up_to_date(generate: ModuleType) -> None:
    assert generate.SETTINGS.read_text(encoding="utf-8") == generate.settings_page(), "run: python docs/generate.py"


@pytest.mark.blocks(r"python\b.*")
def test_python_compiles(block: Any) -> None:
    compile(block.text, str(block), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.blocks("python run")
def test_python_marked_so_runs(block: Any, example_plugins: PluginCatalog, own_folders: Path) -> None:
    exec(compile(block.text, str(block), "exec"), {"__name__": "__main__"})


@pytest.mark.blocks(r"toml\b.*")
def test_toml_can_be_read(block: Any) -> None:
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


def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for link in _LINK.findall(text):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        target = (page.parent / unquote(path)).resolve() if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def test_every_page_is_reached_from_the_index() -> None:
    """A link to a folder reaches all that lies in it: decisions are read in their order."""
    docs = ROOT / "docs"
    reached: set[Path] = set()
    todo = [docs / "index.md"]
    while todo:
        page = todo.pop()
        if page in reached or not page.is_relative_to(docs):
            continue
        reached.add(page)
        links = (link.partition("#")[0] for link in _LINK.findall(page.read_text(encoding="utf-8")))
        targets = ((page.parent / link).resolve() for link in links if link and "://" not in link)
        for target in targets:
            todo += sorted(target.glob("*.md")) if target.is_dir() else [target] if target.suffix == ".md" else []
    assert set(docs.rglob("*.md")) - reached == set()


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_page(kind: str) -> None:
    text = (ROOT / "docs" / "plugins" / f"{kind}.md").read_text(encoding="utf-8")
    assert f"@{KINDS[kind].__name__}(" in text
    for module in (ROOT / "examples" / "kinds" / kind).glob("leadline_*.py"):
        assert f'title="examples/kinds/{kind}/{module.name}"' in text
    for heading in ("The contract", "The records", "A complete one", "Choosing it", "Testing it", "Errors"):
        assert f"\n## {heading}\n" in text
    assert "```python run\n" in text
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
