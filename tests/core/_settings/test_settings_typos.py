"""A typo in any key, in any source, is an error that names the key that was meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline._settings.schema import model_of
from leadline.errors import ConfigError
from leadline.plugin import PluginSettings, search_provider
from leadline.settings import PipelineSettings, Settings
from leadline.testing.plugins import plugin


class Wiki(PluginSettings):
    max_results: int = 3
    language: str = "en"


def keys(model: Any = Settings, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every section and every key of the core, the loops and pipelines included."""
    for name, field in model.model_fields.items():
        yield (*path, name)
        if section := model_of(field.annotation):
            yield from keys(section, (*path, name))
    if not path:
        yield from (("pipelines", "research", name) for name in model_of_pipeline().model_fields)
        yield from (("limits", "wiki", name) for name in ("at_once", "interval", "timeout"))
        yield from (("plugins", "wiki", name) for name in Wiki.model_fields)
        yield ("plugins", "wiki")


def model_of_pipeline() -> Any:
    return PipelineSettings


def typos(word: str) -> Iterator[str]:
    """Yield a letter doubled, one left out, two exchanged."""
    middle = len(word) // 2
    yield word + word[-1]
    if len(word) > 3:
        yield word[:middle] + word[middle + 1 :]
        yield word[: middle - 1] + word[middle] + word[middle - 1] + word[middle + 1 :]


SOURCES = ("set", "environment", "file", "argument")
CASES = [(path, misspelt) for path in keys() for misspelt in typos(path[-1]) if misspelt != path[-1]]


@pytest.fixture(scope="module")
def host() -> PluginCatalog:
    offer = search_provider("x", settings=Wiki)(lambda: cast("Any", None))
    return PluginCatalog.discover([plugin("wiki", offer)])


def nested(path: tuple[str, ...], value: Any) -> Mapping[str, Any]:
    return {path[0]: nested(path[1:], value) if path[1:] else value}


@pytest.mark.parametrize("step", [len(SOURCES), pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("source", SOURCES)
def test_a_typo_anywhere_names_what_was_meant(host: PluginCatalog, tmp_path: Path, source: str, step: int) -> None:
    wrong = {}
    for path, misspelt in CASES[SOURCES.index(source) % step :: step]:
        written = (*path[:-1], misspelt)
        told = fault(host, tmp_path, source, written)
        good = f"{misspelt!r} is installed" in told or f"{'.'.join(written)}: unknown setting" in told
        listed = "" if path[0] == "plugins" and len(path) == 2 else " (choose from: "
        if not (good and f"did you mean {path[-1]!r}?{listed}" in told and place(source, written) in told):
            wrong[".".join(written)] = told
    assert not wrong
    assert len(CASES) > 200


def fault(host: PluginCatalog, folder: Path, source: str, path: tuple[str, ...]) -> str:
    (folder / "leadline.toml").write_text("\n" + ".".join(path) + " = 'x'\n" if source == "file" else "")
    variable = "LEADLINE_" + "__".join(path).upper()
    with pytest.raises(ConfigError) as caught:
        load_settings(
            host,
            cwd=folder,
            user_file=folder / "none",
            sets=["search.engines=wiki", *([f"{'.'.join(path)}=x"] if source == "set" else [])],
            environ={variable: "x"} if source == "environment" else {},
            arguments=nested(path, "x") if source == "argument" else {},
        )
    return str(caught.value)


def place(source: str, path: tuple[str, ...]) -> str:
    return {
        "set": f"(--set {'.'.join(path)})",
        "environment": f"(environment LEADLINE_{'__'.join(path).upper()})",
        "file": "(leadline.toml:2)",
        "argument": "(argument)",
    }[source]


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("LEADLINE_REPORT_LENGTH", "LEADLINE_REPORT__LENGTH"),
        ("LEADLINE_SEARCH_RESULTS_PER_QUERY", "LEADLINE_SEARCH__RESULTS_PER_QUERY"),
        ("LEADLINE_BUDGET_MONY", "LEADLINE_BUDGET__MONEY"),
    ],
)
@pytest.mark.parametrize("place", ["environment", ".env"])
def test_one_underscore_for_two_is_told(
    host: PluginCatalog, tmp_path: Path, variable: str, meant: str, place: str
) -> None:
    (tmp_path / ".env").write_text(f"{variable}=3\n" if place == ".env" else "")
    with pytest.raises(ConfigError) as caught:
        load_settings(
            host, cwd=tmp_path, user_file=tmp_path / "none", environ={variable: "3"} if place != ".env" else {}
        )
    told = f"{variable.removeprefix('LEADLINE_').lower()}: unknown setting: did you mean {meant}? "
    assert str(caught.value).splitlines()[0] == f"{told}Two underscores separate table and key ({place} {variable})"
