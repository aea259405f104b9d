"""What can be wrong with a plugin, each with the text a person gets: broken distributions, really installed.

That they stand side by side is the point: each is told of where it is asked for, and the rest works.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leadline._hosting.catalog import PluginCatalog
from leadline.hookspecs import KINDS

HEAD = """
from leadline import Offer, PluginSettings, hookimpl
from leadline.records import Hit, SearchPage

class Settings(PluginSettings):
    {field}

class Engine:
    async def search(self, request, call, /):
        return SearchPage(hits=(Hit(url="fine:1", title="Fine", text="The rest of the plugins works as before."),))

OFFER = Offer(lambda settings, context: Engine(), Settings, "An engine"{options})
"""
HOOK = """
@hookimpl
def leadline_search_providers():
    yield OFFER
"""


def source(field: str = "limit: int = 3", options: str = "", hook: str = HOOK) -> str:
    return HEAD.format(field=field, options=options) + hook


BROKEN: dict[str, tuple[str, str]] = {
    # distribution: (entry point, module)
    "twin-one": ("twin", source()),
    "twin-two": ("twin", source()),
    "explodes": ("explodes", "raise RuntimeError('no licence file')"),
    "quits": ("quits", "import sys; sys.exit('no display')"),
    "throws": ("throws", source(hook="\n@hookimpl\ndef leadline_search_providers():\n    raise KeyError('region')\n")),
    "misspelt": ("misspelt", source(hook=HOOK.replace("search", "serch"))),
    "future": ("future", "raise RuntimeError('a plugin of another API version was imported')"),
    "heavy": ("heavy", source(options=', requires=("heavy_sdk.client=leadline-heavy[sdk]",)')),
    "strict": ("strict", source(field="max_results: int = 3")),
    "keyed": ("keyed", source(field="api_key: str", options=', env={"api_key": "KEYED_API_KEY"}')),
    "fine": ("fine", source()),
}
PYPROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "leadline-{name}"
version = "2.5"

[project.entry-points."leadline.{group}"]
{point} = "leadline_{module}"
"""


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory, install: Any) -> Path:
    """Install all of them; returns the folder."""
    top = tmp_path_factory.mktemp("broken")
    for name, (point, text) in BROKEN.items():
        project, module = top / name, name.replace("-", "_")
        project.mkdir()
        group = "v2" if name == "future" else "v1"
        told = PYPROJECT.format(name=name, group=group, point=point, module=module)
        (project / "pyproject.toml").write_text(told, encoding="utf-8")
        (project / f"leadline_{module}.py").write_text(text, encoding="utf-8")
    install([top / name for name in BROKEN], top / "site")
    return top / "site"


NONE = "search.engines: none of the chosen plugins can work here\n  "
HOOKS = ", ".join(f"leadline_{kind}" for kind in sorted(KINDS))
ENGINES = ", ".join(
    sorted({*PluginCatalog.discover().offering("search_providers"), "fine", "heavy", "keyed", "strict"})
)
CASES = {
    "unknown name": (
        "search.engines=fien",
        "search.engines: no plugin 'fien' is installed: did you mean 'fine'? "
        f"(choose from: {ENGINES}); see `leadline plugins` (--set search.engines)",
    ),
    "name offered twice": (
        "search.engines=twin",
        "search.engines: plugin 'twin' is offered twice, by leadline-twin-one 2.5 and leadline-twin-two 2.5: "
        "uninstall one of them (--set search.engines)",
    ),
    "raises on import": (
        "search.engines=explodes",
        f"{NONE}explodes: plugin 'explodes' (leadline-explodes 2.5) cannot be imported: leadline_explodes raised "
        "RuntimeError: no licence file; update or uninstall leadline-explodes, or take it out of the settings",
    ),
    "leaves on import": (
        "search.engines=quits",
        f"{NONE}quits: plugin 'quits' (leadline-quits 2.5) cannot be imported: leadline_quits raised "
        "SystemExit: no display; update or uninstall leadline-quits, or take it out of the settings",
    ),
    "raises in its hook": (
        "search.engines=throws",
        f"{NONE}throws: plugin 'throws' (leadline-throws 2.5) raised in leadline_search_providers: "
        "KeyError: 'region'; this is a bug in the plugin",
    ),
    "misspelt hook": (
        "search.engines=misspelt",
        f"{NONE}misspelt: plugin 'misspelt' (leadline-misspelt 2.5) has an unknown hook leadline_serch_providers: "
        f"did you mean 'leadline_search_providers'? (choose from: {HOOKS})",
    ),
    "another API version": (
        "search.engines=future",
        "search.engines: plugin 'future' (leadline-future 2.5) is made for leadline.v2, this is leadline.v1: "
        "install a version of it for leadline.v1 (--set search.engines)",
    ),
    "missing SDK": (
        "search.engines=heavy",
        f"{NONE}heavy: plugin 'heavy' (leadline-heavy 2.5) lacks what it needs: pip install 'leadline-heavy[sdk]'",
    ),
    "unknown option": (
        "plugins.strict.max_result=3",
        "plugins.strict.max_result: unknown setting: did you mean 'max_results'? (choose from: max_results) "
        "(--set plugins.strict.max_result)",
    ),
    "wrong option": (
        "plugins.strict.max_results=many",
        "plugins.strict.max_results: input should be a valid integer, got 'many' (--set plugins.strict.max_results)",
    ),
    "missing key": (
        "search.engines=keyed",
        f"{NONE}keyed: plugins.keyed.api_key is not set: set KEYED_API_KEY, or plugins.keyed.api_key in leadline.toml",
    ),
}
QUESTION = "Do the rest of the plugins work?"


@pytest.mark.parametrize("case", CASES)
def test_the_text(case: str, broken: Path, leadline_in: Any) -> None:
    setting, text = CASES[case]
    done = leadline_in(broken, "research", QUESTION, "--set", "search.engines=strict", "--set", setting)
    assert done.stderr.splitlines() == f"leadline: {text}".splitlines()
    assert (done.stdout, done.returncode) == ("", 78)


def test_the_rest_works(broken: Path, leadline_in: Any) -> None:
    done = leadline_in(broken, "research", QUESTION, "--set", "search.engines=explodes,fine", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert "The rest of the plugins works as before. [1]" in Path(told["report"]).read_text(encoding="utf-8")
    assert "explodes is left out: plugin 'explodes' (leadline-explodes 2.5) cannot be imported" in done.stderr


def test_the_list_tells_of_each(broken: Path, leadline_in: Any) -> None:
    done = leadline_in(broken, "plugins", "list", "--json")
    listed = {plugin["distribution"]: plugin for plugin in json.loads(done.stdout)}
    status = {name: listed[f"leadline-{name}"]["status"] for name in BROKEN}
    assert status == {
        **dict.fromkeys(BROKEN, "broken"),
        "heavy": "incomplete",
        "keyed": "incomplete",
        "strict": "ready",
        "fine": "ready",
    }
    assert "leadline.v2" in listed["leadline-future"]["lacks"]
    assert listed["leadline"]["status"] == "ready"
