"""Render the notices and reasons of a run in the language of a report, by their codes.

`data/notices` has the templates of each language; a notice without one stays English. English has only those that
readers of a report should see in other words than a terminal shows.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from leadline.display import group_by_reason
from leadline.records import Notice
from leadline_plugins.wording.phrases import for_language, join_items, phrase, translate

_FOLDER = files(__package__).joinpath("data", "notices")


def translate_notice(notice: str, language: str) -> str:
    """Return a notice in a language; empty if there is no translation, even of a part of it."""
    parts = [_translated(part, language) for part in Notice.read(notice).parts]
    return join_items(_join(parts, language), language, "semicolon") if all(text for text, _ in parts) else ""


def grouped(notices: Iterable[Notice], language: str) -> list[str]:
    """Return notices in a language that has translations of all; those with the same reason in brackets as one text."""
    return _join((_translated(notice, language) for notice in notices), language)


def task_name(name: str, language: str) -> str:
    """Return the name of a task for readers; in English if the language has none."""
    table = for_language(_tables(), language, _tables()["en"])
    return str(table["tasks"].get(name, name))


def templates(language: str) -> Mapping[str, str]:
    """Return the templates of a language by code."""
    table: Mapping[str, Any] = for_language(_tables(), language, {})
    return {code: text for code, text in table.items() if code != "tasks"}


def _translated(notice: Notice, language: str) -> tuple[str, str]:
    """Return a notice without its reason in brackets, and that reason; an empty notice without a translation."""
    if notice.code == "several":
        return translate_notice(notice, language), ""
    text, reason = notice.without_reason()
    values = {name: _value(name, value, language) for name, value in notice.parameters.items()}
    reason = values["reason"] if reason else ""
    try:
        return templates(language)[notice.code].format(**values), reason
    except KeyError:  # there is no template, or one for another notice: plugins have codes of their own
        if language != "en":
            return "", ""
    for name, value in notice.parameters.items():
        text = text.replace(value, values[name], 1) if value and isinstance(value, str) else text
    return text, reason


def _value(name: str, value: Any, language: str) -> str:
    if name == "task":
        return task_name(value, language)
    translation = translate_notice(value, language) if isinstance(value, Notice) else ""
    return translation or translate(f"{value}", language)


def _join(messages: Iterable[tuple[str, str]], language: str) -> list[str]:
    form = templates(language).get("because", "{message} ({reason})")
    return group_by_reason(messages, form, phrase("semicolon", language))


@cache
def _tables() -> Mapping[str, Mapping[str, Any]]:
    found = (item for item in _FOLDER.iterdir() if item.name.endswith(".toml"))
    return {item.name.removesuffix(".toml").casefold(): tomllib.loads(item.read_text("utf-8")) for item in found}
