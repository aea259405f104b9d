"""Update the parts of the documentation that quote the code.

    python docs/generate.py

A fenced block with a title is quoted: `title="examples/…"` from a file, `title="leadline.records.Hit …"` from the
source of the named classes, `title="leadline.events"` from a module's docstring. `reference/settings.md` is written
from the models of the settings, `reference/prompts.md` from the tasks of the built-in plugins. A test fails if a page
is out of date.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

from leadline.api import Client
from leadline.models.declared import Declared, declared
from leadline.prompt_text import prompt_messages
from leadline.settings.load import commented_toml, compose
from leadline_plugins.search.local.settings import LocalSettings

DOCS = Path(__file__).parent
SETTINGS = DOCS / "reference" / "settings.md"
PROMPTS = DOCS / "reference" / "prompts.md"
PAGES = [*sorted(DOCS.rglob("*.md")), DOCS.parent / "README.md"]
_QUOTED = re.compile(r'(^```\w+ title="([^"]+)"\n)(.*?)(^```$)', re.MULTILINE | re.DOTALL)
_INTRODUCTION = """# Settings

Every key with its default and its meaning, and the section of the plugin `local`; `leadline plugins show NAME` prints
the section of any other plugin. [How to change settings](../how-to/settings.md) describes files, environment and
command line.
`leadline config init` writes this file for the plugins that you selected.
"""
_ABOUT_PROMPTS = """# Prompts

The full text of every prompt, as a language model reads it. Placeholders such as `{title}` are inputs; a list shows one
item. Servers that support it also receive the schema as `response_format`. `leadline prompts show TASK` prints the same
with your templates; see [how to change prompts](../how-to/prompts.md).
"""


def quoted(title: str) -> str:
    """Return the text that a block of this title quotes."""
    if not title.startswith("leadline"):
        return (DOCS.parent / title).read_text(encoding="utf-8")
    names = title.split()
    parted = "\n\n" if any("class " in _source(name) for name in names) else ""
    return parted.join(map(_source, names))


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
    """Return the reference of the settings."""
    return f"{_INTRODUCTION}\n```toml\n{commented_toml(compose({'local': LocalSettings}))}```\n"


def prompts_page() -> str:
    """Return the reference of the prompts."""
    built_in = [one for one in declared(Client().host.loadable()) if one.plugin.distribution == "leadline"]
    return "\n".join([_ABOUT_PROMPTS, *map(_prompt, sorted(built_in, key=lambda one: one.task.name))])


def _prompt(one: Declared) -> str:
    task = one.task
    messages = prompt_messages(task, task.prompt)
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
