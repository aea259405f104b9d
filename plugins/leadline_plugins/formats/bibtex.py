"""The plugin `bibtex`: the sources as a BibTeX file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from leadline.contracts import Call
from leadline.plugin import report_formatter
from leadline.records import Blob, Files, Report
from leadline.rendering import clean
from leadline_plugins.formats.csl import csl_items

_KINDS = {
    "article-journal": "article",
    "book": "book",
    "chapter": "incollection",
    "paper-conference": "inproceedings",
    "report": "techreport",
    "thesis": "phdthesis",
}
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{mark: f"\\{mark}" for mark in "{}$&#_%"},
}
_PLAIN = {
    "DOI": "doi",
    "container-title": "journal",
    "publisher": "publisher",
    "volume": "volume",
    "issue": "number",
    "page": "pages",
}


@report_formatter("The sources as a BibTeX file", cache_key=None)
class Bibtex:
    """Renders BibTeX."""

    async def format(self, report: Report, call: Call, /) -> Files:
        """Return `references.bib`: all sources in their numbering."""
        data = "\n".join(entry(item) for item in csl_items(report)).encode("utf-8", "replace")
        return Files(files=(Blob(name="references.bib", media_type="application/x-bibtex", data=data),))


def entry(item: Mapping[str, Any]) -> str:
    """Return an item of CSL-JSON as a BibTeX entry."""
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in _fields(item))
    return f"@{_KINDS.get(str(item.get('type')), 'misc')}{{{item['id']},\n{lines}}}\n"


def _fields(item: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if authors := item.get("author"):
        yield "author", " and ".join(_person(author) for author in authors)
    yield "title", f"{{{escaped(item['title'])}}}"
    for name, value in zip(("year", "month", "day"), _date(item.get("issued")), strict=False):
        yield name, escaped(value)
    for key, name in _PLAIN.items():
        if item.get(key):
            yield name, escaped(item[key])
    if "URL" in item:
        yield "url", re.sub(r"[{}\\\s]", lambda mark: f"%{ord(mark.group()):02X}", str(item["URL"]))


def _person(author: Mapping[str, Any]) -> str:
    """Return a name; that of an organization in braces, which keep it whole."""
    if "family" in author:
        return ", ".join(escaped(author[part]) for part in ("family", "given") if author.get(part))
    return f"{{{escaped(author.get('literal', ''))}}}"


def _date(issued: Any) -> tuple[str, ...]:
    parts = (issued or {}).get("date-parts") or [[]]
    return tuple(str(part) for part in parts[0])


def escaped(value: object) -> str:
    """Return a text with the special characters of TeX escaped."""
    return "".join(_SPECIAL.get(mark, mark) for mark in " ".join(clean(str(value)).split()))
