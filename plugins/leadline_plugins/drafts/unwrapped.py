"""What a model puts around its text: thoughts, a block of code around the whole, JSON in JSON."""

from __future__ import annotations

import json
import re

from leadline_plugins.drafts.assistant import unaddressed

_THOUGHT = re.compile(r"\s*<(think|thinking|reasoning|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*(\w*)[ \t]*\n")
_OURS = ("", "markdown", "md", "text", "txt", "plaintext", "json")
_FIELDS = ("text", "markdown", "content", "section")
_ESCAPED = re.compile(r"(?:\\r)?\\n(?:\\r)?\\n")
_LINE_END = re.compile(r"\\n(?=[|#>*\d-]|[A-Z])|(?<=\|)\\n")
_DEEPEST = 4
"""Wrappings in each other."""


def unwrapped(text: str) -> str:
    """Return a text without what stands around it as a whole."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for _ in range(_DEEPEST):
        inner = _of_json(_of_fence(unaddressed(_of_thoughts(_of_escapes(text)))))
        if inner == text:
            break
        text = inner
    return text


def _of_escapes(text: str) -> str:
    """Return a text whose lines end: some models escape their ends twice. No command of LaTeX begins so."""
    if not _ESCAPED.search(text) or text.count("\n") > text.count("\\n"):
        return text
    return _LINE_END.sub("\n", _ESCAPED.sub("\n\n", text))


def _of_thoughts(text: str) -> str:
    found = _THOUGHT.match(text)
    return text[found.end() :].lstrip() if found else text


def _of_fence(text: str) -> str:
    """Return what the one block of code holds that a text consists of; one that never ends is one too."""
    said = text.strip()
    opened = _FENCE.match(said)
    if not opened or opened[2].lower() not in _OURS:
        return text
    inside = said[opened.end() :]
    closing = re.compile(rf"^[ ]{{0,3}}{opened[1][0]}{{{len(opened[1])},}}[ \t]*$", re.MULTILINE)
    closed = closing.search(inside)
    if closed and closed.end() < len(inside):
        return text
    if not closed and not opened[2]:
        return text
    return inside[: closed.start()].rstrip("\n") if closed else inside


def _of_json(text: str) -> str:
    said = text.strip()
    if not (said.startswith("{") and said.endswith("}")):
        return text
    try:
        data = json.loads(said, strict=False)
    except (ValueError, RecursionError):
        return text
    values = [data[name] for name in _FIELDS if isinstance(data.get(name), str)]
    return values[0] if values else text
