"""Build the documentation as a site: `make docs`.

    python docs/build.py

The pages of `docs` are copied to `build/docs`, beside those that are made from the code: the reference of the settings,
the prompts and the commands, and the directory of the plugins. Zensical then writes `build/site`; a warning is an
error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import reduce
from inspect import getdoc
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from leadline import __version__, errors
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.models.task_messages import prompt_messages
from leadline._settings.load import compose, load_settings
from leadline._settings.schema import toml_value
from leadline._settings.sources import Sources
from leadline._settings.task_settings import Declared, declared
from leadline.cli.commands import command_line, subcommands
from leadline.client import Client
from leadline.hookspecs import GROUP, KINDS
from leadline.settings import Limits, PipelineSettings, Settings
from leadline.tasks import template_of
from leadline_plugins.knowledge import KnowledgeSettings
from leadline_plugins.search.local.folders import LocalSettings
from leadline_plugins.stages.explore import ExploreSettings
from leadline_plugins.vectors.flat import FlatSettings
from leadline_plugins.vectors.qdrant import QdrantSettings

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PAGES, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
# Pages of the site that lie elsewhere in the tree.
ELSEWHERE = {
    ROOT / "README.md": DOCS / "start.md",
    ROOT / "CHANGELOG.md": DOCS / "changelog.md",
    ROOT / "CONTRIBUTING.md": DOCS / "contributing.md",
    ROOT / "examples" / "systems" / "README.md": DOCS / "how-to" / "systems.md",
}
# A block that quotes a file of the tree.
_QUOTED = re.compile(r'(^```\w+ title="([^"]+)"\n)\.\.\.$', re.MULTILINE)
_FENCE = re.compile(r"^(````?\w+)(?: [\w ]+)?$", re.MULTILINE)
_CODE = re.compile(r"(^(`{3,}).*?^\2$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
# Tables of the settings with free names.
_TABLES: dict[str, type[BaseModel]] = {"limits": Limits, "pipelines": PipelineSettings}
_INTRODUCTION = """# Settings

Every key with its default, by what you want to do. [How to change settings](../how-to/settings.md) describes files,
environment and command line; `leadline config init` writes a file with all keys. `leadline plugins show NAME` prints
the settings of a plugin that is not on this page.

A key such as `search.engines` is `engines` in the table `[search]` of `leadline.toml`. `auto` selects what is installed
and can work; see [the choices of auto](../how-to/settings.md#the-choices-of-auto).
"""
# The groups of the page: a title, an introduction, and tables or single keys. Every key of the core belongs to one.
_GROUPS = (
    ("Choose models", "", ("ai", "prompts")),
    ("Choose search engines", "", ("search", "read", "plugins.local")),
    ("Set the depth and a budget", "", ("research", "budget", "retry")),
    (
        "Clarify the question, and approve the plan",
        "`[clarify]` is short for `[plugins.clarify]`, as `[plan]` for `[plugins.plan]`.",
        ("plugins.clarify", "plugins.plan"),
    ),
    (
        "Shape the report",
        "",
        ("language", "report", "charts", "plugins.chart", "plugins.illustrate", "code"),
    ),
    ("Check claims", "`[audit]` is short for `[plugins.audit]`.", ("verify", "plugins.audit")),
    (
        "Answer from your own documents",
        "See [how to answer from your own documents](../how-to/knowledge.md).",
        ("knowledge", "plugins.knowledge", "plugins.flat", "plugins.qdrant"),
    ),
    ("Reuse answers", "", ("cache",)),
    ("Keep and watch runs", "", ("runs", "memory", "observers")),
    (
        "Choose a pipeline",
        "See [how to build a pipeline](../how-to/pipelines.md).",
        ("pipeline", "preset", "plugins.explore", "pipelines"),
    ),
    (
        "Limit and wrap plugins",
        "A plugin's own keys are in `[plugins.NAME]`, or in `[NAME]` if the core has no table of this name.",
        ("plugin_folder", "limits", "middleware"),
    ),
)
_ABOUT_PROMPTS = """# Prompts

The full text of every prompt, as a language model reads it. Placeholders such as `{title}` are inputs; a list shows one
item. Servers that support it also receive the schema as `response_format`. `leadline prompts show TASK` prints the same
with your templates; see [how to change prompts](../how-to/prompts.md).
"""


_ABOUT_PLUGINS = """# Plugin directory

The plugins that come with Leadline, by kind. *Needs* is an extra to install or a variable with a key; the setting that
chooses a plugin is on the page of its kind. `leadline plugins list` shows what is installed and what it lacks,
`leadline plugins show NAME` its settings. [Add one of your own](../tutorial/search-provider.md)
"""


def settings_page() -> str:
    """Return the reference of the settings. Raises ValueError for a table of the core that no group has."""
    defaults = _defaults()
    grouped = {name.partition(".")[0] for _, _, names in _GROUPS for name in names}
    if missing := Settings.model_fields.keys() - grouped:
        raise ValueError(f"no group of the reference has {', '.join(sorted(missing))}")
    return "\n".join([_INTRODUCTION, *(_group(title, about, names, defaults) for title, about, names in _GROUPS)])


def _defaults() -> Settings:
    """Return the default settings, with the sections of some plugins that they do not choose."""
    nowhere = Path("/nonexistent")
    core = load_settings(PluginCatalog.discover(), Sources(nowhere, {}, user_file=nowhere), complete=False).settings
    others = {"knowledge": KnowledgeSettings(), "flat": FlatSettings(), "qdrant": QdrantSettings()}
    plugins = {**dict(core.plugins), "local": LocalSettings(), "explore": ExploreSettings(), **others}
    models = {name: type(section) for name, section in plugins.items()}
    return compose(*models.items()).model_validate({**dict(core), "plugins": plugins})


def _group(title: str, about: str, names: tuple[str, ...], defaults: Settings) -> str:
    rows = [row for name in names for row in _rows(name, defaults)]
    head = ["| key | default | meaning |", "|---|---|---|"]
    return "\n".join([f"## {title}", "", *([about, ""] if about else []), *head, *rows, ""])


def _rows(name: str, defaults: Settings) -> Iterator[str]:
    """Yield the rows of a table of the settings, or of a single key."""
    model, value = reduce(lambda found, key: getattr(found, key), name.split(".")[:-1], defaults), name.split(".")[-1]
    field, found = type(model).model_fields[value], getattr(model, value)
    if isinstance(found, BaseModel):
        for key, inner in type(found).model_fields.items():
            yield _row(f"{name.removeprefix('plugins.')}.{key}", inner, getattr(found, key), name)
    elif table := _TABLES.get(name):
        yield from (_row(f"{name}.NAME.{key}", inner, inner.default, name) for key, inner in table.model_fields.items())
    else:
        yield _row(name, field, found, name)


def _row(key: str, field: FieldInfo, value: Any, name: str) -> str:
    # A plugin whose table has the name of one of the core needs the prefix.
    if name.startswith("plugins.") and key.partition(".")[0] in Settings.model_fields:
        key = f"plugins.{key}"
    default = toml_value(to_jsonable_python(value)) if value is not None else ""
    meaning = (field.description or "").replace("|", r"\|")
    return f"| `{key}` | {f'`{default}`' if default else ''} | {meaning} |"


def prompts_page() -> str:
    """Return the reference of the prompts."""
    found = [asked for asked in declared(Client().catalog.loadable()) if asked.plugin.distribution == "leadline"]
    return "\n".join([_ABOUT_PROMPTS, *map(_prompt, sorted(found, key=lambda asked: asked.task.name))])


def _prompt(asked: Declared) -> str:
    task = asked.task
    messages = prompt_messages(task, template_of(task, {}))
    blocks = (f"The {message.role} message:\n\n````text\n{message.text}\n````\n" for message in messages)
    return "\n".join([f"## {task.name}\n\nAsked by `{asked.plugin.name}`, role `{task.role}`.\n", *blocks])


def commands_page() -> str:
    """Return the help of every command."""
    top = command_line("")
    about = "The help of every command; [the command line](cli.md) has what they share."
    pages = [f"# Commands\n\n{about}\n\n{_help(top)}"]
    for name in subcommands(top).choices:
        parser = subcommands(command_line(name)).choices[name]
        pages.append(f"## leadline {name}\n\n{_help(parser)}")
        if inner := subcommands(parser):
            pages += [f"### leadline {name} {own}\n\n{_help(found)}" for own, found in inner.choices.items()]
    return "\n".join(pages)


def _help(parser: argparse.ArgumentParser) -> str:
    return f"```text\n{parser.format_help()}```\n"


def plugins_page() -> str:
    """Return the directory of the plugins: those that come with Leadline, by kind, and the projects in `contrib`."""
    plugins = [plugin for plugin in Client().catalog.loadable() if plugin.distribution == "leadline"]
    lines = [_ABOUT_PLUGINS]
    for kind in KINDS:
        title = "AI providers" if kind == "ai_providers" else kind.replace("_", " ").capitalize()
        lines += [f"## {title}\n", f"[Write one]({kind}.md)\n", "| plugin | is | needs |", "|---|---|---|"]
        for plugin in sorted(plugins, key=lambda plugin: plugin.name):
            if offer := plugin.offers.get(kind):
                needs = [need.rpartition("=")[2] for need in map(str, offer.requires)] + [*offer.env.values()]
                lines.append(f"| `{plugin.name}` | {offer.summary} | {', '.join(f'`{need}`' for need in needs)} |")
        lines.append("")
    lines += ["## Projects of their own\n", "In `contrib`; each has its dependencies, tests and README.\n"]
    lines += ["| project | is | plugins |", "|---|---|---|"]
    for file in sorted((ROOT / "contrib").glob("*/pyproject.toml")):
        project = tomllib.loads(file.read_text(encoding="utf-8"))["project"]
        names = ", ".join(f"`{name}`" for name in project["entry-points"].get(GROUP, {}))
        lines.append(f"| `{project['name']}` | {project['description']} | {names} |")
    return "\n".join([*lines, ""])


# --- the site --------------------------------------------------------------------------------------------------------

GENERATED: dict[str, Callable[[], str]] = {
    "reference/settings.md": settings_page,
    "reference/prompts.md": prompts_page,
    "reference/commands.md": commands_page,
    "plugins/directory.md": plugins_page,
}


def quoted(title: str) -> str:
    """Return the text of a file of the tree, or the classes of `leadline.errors`."""
    if title == errors.__name__:
        return "\n".join([*_tree(errors.LeadlineError), *_tree(errors.ProviderError)])
    return (ROOT / title).read_text(encoding="utf-8")


def _tree(error: Any, indent: str = "") -> Iterator[str]:
    """Yield what an error is and how it ends a command or a call, and then the same of the errors below it."""
    about = (getdoc(error) or "").partition("\n")[0].rstrip(".")
    category = getattr(error, "category", "")
    is_new = category or error.exit_code != getattr(error.__base__, "exit_code", None)
    ends = f"{category}{', retried' if error.retry else ''}" if category else f"exit {error.exit_code}"
    yield f"{indent}{error.__name__}: {about}{f' ({ends})' if is_new else ''}"
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _tree(below, f"{indent}    ")


def page_of(text: str, source: Path, page: Path) -> str:
    """Return a Markdown file as a page: marks for tests removed, links to files that are no pages as their text."""

    def fence(block: re.Match[str]) -> str:
        return block[1] + (' title="leadline.toml"' if block[0] == "```toml settings" else "")

    def link(found: re.Match[str]) -> str:
        path, hash_, anchor = found[2].partition("#")
        if "://" in path or not path:
            return found[0]
        target = (source.parent / path).resolve()
        target = ELSEWHERE.get(target, target)
        if target.is_dir() and target.is_relative_to(DOCS):
            target /= "README.md"
        if not target.is_relative_to(DOCS):
            return found[1]
        return f"[{found[1]}]({os.path.relpath(target, page.parent)}{hash_}{anchor})"

    text = _QUOTED.sub(lambda block: block[1] + quoted(block[2]).rstrip(), text)
    parts = _CODE.split(text)  # text, code, its fence, text, …
    parts[::3] = [_LINK.sub(link, part) for part in parts[::3]]
    return _FENCE.sub(fence, "".join(part for index, part in enumerate(parts) if index % 3 != 2))


def main() -> int:
    """Write the site. Return the exit code of Zensical."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(DOCS, PAGES, ignore=shutil.ignore_patterns("*.py", "*.md", "__pycache__"))
    sources = {page: page for page in DOCS.rglob("*.md")} | ELSEWHERE
    texts = {page: page_of(source.read_text(encoding="utf-8"), source, page) for source, page in sources.items()}
    texts |= {DOCS / name: page() for name, page in GENERATED.items()}
    texts[DOCS / "index.md"] += f"\nThis is the documentation of Leadline {__version__}.\n"
    # The search answers from guides and decisions.
    texts[DOCS / "changelog.md"] = "---\nsearch:\n  exclude: true\n---\n\n" + texts[DOCS / "changelog.md"]
    for page, text in texts.items():
        file = PAGES / page.relative_to(DOCS)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.call(command, cwd=ROOT, env={**os.environ, "NO_COLOR": "1"})  # noqa: S603


if __name__ == "__main__":
    sys.exit(main())
