"""The page around the report: head, contents, style and script of our own, and a policy that lets nothing else run."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from leadline_plugins.formats.document import Document
from leadline_plugins.formats.html.write import Writer
from leadline_plugins.formats.tree import Node
from leadline_plugins.wording import right_to_left, say

_DEPTH = 2
"""Levels of headings in the contents."""


def page(document: Document) -> str:
    """Return the whole page."""
    writer = Writer(say("table", document.language))
    body = writer.all(document.blocks) + writer.notes()
    title, style, script = escape(document.title), _part("page.css"), _part("page.js")
    language = escape(document.language or "en")
    direction = ' dir="rtl"' if right_to_left(document.language) else ""

    def word(name: str) -> str:
        return escape(say(name, document.language))

    return (
        f'<!doctype html>\n<html lang="{language}"{direction}>\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_policy(style, script)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f'<meta name="generator" content="Leadline">\n<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n'
        f'<a class="skip" href="#report">{word("skip")}</a>\n'
        f'<header id="title"><h1>{title}</h1>{_about(document)}</header>\n'
        f"{_contents(document, writer)}"
        f'<main id="report" tabindex="-1">\n{body}\n</main>\n'
        f'<aside id="quote" popover tabindex="-1" role="dialog" aria-label="{word("evidence")}" '
        f'data-close="{word("close")}"></aside>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


def _about(document: Document) -> str:
    return f'<p class="about">{escape(document.checks)}</p>' if document.checks else ""


def _contents(document: Document, writer: Writer) -> str:
    items = "".join(_items(document.blocks, writer))
    name = escape(say("contents", document.language))
    title = f'<h2 id="contents-title">{name}</h2>'
    return f'<nav id="contents" aria-labelledby="contents-title">{title}<ul>{items}</ul></nav>\n'


def _items(blocks: list[Node], writer: Writer) -> Iterator[str]:
    for block in blocks:
        if block["t"] == "Header" and block["c"][0] <= _DEPTH:
            level, attr, inside = block["c"]
            yield f'<li class="level-{level}"><a href="#{attr[0]}">{writer.all(_unlinked(inside))}</a></li>'


def _unlinked(inlines: Any) -> list[Node]:
    """Return inlines without links and notes: an entry of the contents is a link itself."""
    kept: list[Node] = []
    for node in inlines:
        if node["t"] == "Link" and "citation" not in node["c"][0][1]:
            kept += node["c"][1]
        elif node["t"] not in {"Link", "Note", "Image", "Span"}:
            kept.append(node)
    return kept


def _policy(style: str, script: str) -> str:
    return (
        f"default-src 'none'; img-src data:; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + b64encode(sha256(text.encode()).digest()).decode()


@cache
def _part(name: str) -> str:
    return "\n" + files("leadline_plugins.formats.html").joinpath(name).read_text("utf-8")
