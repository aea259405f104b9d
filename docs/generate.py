"""Update the parts of the documentation that quote the code.

    python docs/generate.py

A fenced block with a title is quoted: `title="examples/…"` from a file, `title="leadline.records.Hit …"` from the
source of the named classes, `title="leadline.events"` from a module's docstring, `title="leadline.errors"` from its
classes. `reference/settings.md` is written from the models of the settings, `reference/prompts.md` from the tasks of
the built-in plugins. A test fails if a page is out of date.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from leadline import errors
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.models.task_messages import prompt_messages
from leadline._settings.load import compose, load_settings
from leadline._settings.schema import toml_value
from leadline._settings.sources import Sources
from leadline._settings.task_settings import Declared, declared
from leadline.client import Client
from leadline.settings import Limits, PipelineSettings, Settings
from leadline.tasks import template_of
from leadline_plugins.knowledge import KnowledgeSettings
from leadline_plugins.search.local.folders import LocalSettings
from leadline_plugins.stages.explore import ExploreSettings
from leadline_plugins.vectors.flat import FlatSettings
from leadline_plugins.vectors.qdrant import QdrantSettings

DOCS = Path(__file__).parent
# Tables of the settings with free names.
_TABLES: dict[str, type[BaseModel]] = {"limits": Limits, "pipelines": PipelineSettings}
SETTINGS = DOCS / "reference" / "settings.md"
PROMPTS = DOCS / "reference" / "prompts.md"
PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
_QUOTED = re.compile(r'(^```\w+ title="([^"]+)"\n)(.*?)(^```$)', re.MULTILINE | re.DOTALL)
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


def quoted(title: str) -> str:
    """Return the text that a block of this title quotes."""
    if not title.startswith("leadline"):
        return (DOCS.parent / title).read_text(encoding="utf-8")
    if title == errors.__name__:
        return "\n".join([*_tree(errors.LeadlineError), *_tree(errors.ProviderError), ""])
    names = title.split()
    parted = "\n\n" if any("class " in _source(name) for name in names) else ""
    return parted.join(map(_source, names))


def _tree(error: Any, indent: str = "") -> Iterator[str]:
    """Yield what an error is and how it ends a command or a call, and then the same of the errors below it."""
    about = (inspect.getdoc(error) or "").partition("\n")[0].rstrip(".")
    category = getattr(error, "category", "")
    is_new = category or error.exit_code != getattr(error.__base__, "exit_code", None)
    ends = f"{category}{', retried' if error.retry else ''}" if category else f"exit {error.exit_code}"
    yield f"{indent}{error.__name__}: {about}{f' ({ends})' if is_new else ''}"
    for below in error.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from _tree(below, f"{indent}    ")


def _source(name: str) -> str:
    """Return the source of a class or an assignment, the docstring of a module."""
    module, _, own = name.rpartition(".")
    home = import_module(module)
    if inspect.ismodule(found := getattr(home, own, None)) or found is None:
        return f"{inspect.getdoc(import_module(name))}\n"
    if inspect.isclass(found):
        return inspect.getsource(found)
    lines = inspect.getsource(home).splitlines()
    return next(line for line in lines if line.startswith((f"{own} ", f"{own}:"))) + "\n"


def filled(text: str) -> str:
    """Return a page with its quoted blocks up to date."""
    return _QUOTED.sub(lambda block: block[1] + quoted(block[2]) + block[4], text)


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
    built_in = [one for one in declared(Client().catalog.loadable()) if one.plugin.distribution == "leadline"]
    return "\n".join([_ABOUT_PROMPTS, *map(_prompt, sorted(built_in, key=lambda one: one.task.name))])


def _prompt(one: Declared) -> str:
    task = one.task
    messages = prompt_messages(task, template_of(task, {}))
    blocks = (f"The {message.role} message:\n\n````text\n{message.text}\n````\n" for message in messages)
    return "\n".join([f"## {task.name}\n\nAsked by `{one.plugin.name}`, role `{task.role}`.\n", *blocks])


def main() -> None:
    """Write all pages that are out of date."""
    SETTINGS.write_text(settings_page(), encoding="utf-8")
    PROMPTS.write_text(prompts_page(), encoding="utf-8")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if filled(text) != text:
            page.write_text(filled(text), encoding="utf-8")


if __name__ == "__main__":
    main()
