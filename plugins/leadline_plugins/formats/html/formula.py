"""Formulas as MathML, which browsers set by themselves: no script, no picture."""

from __future__ import annotations

from html import escape


def formula(tex: str, *, block: bool) -> str:
    """Return a TeX formula as MathML; one that cannot be read is shown as it is written."""
    from latex2mathml.converter import convert

    written = f"<code>{escape(tex)}</code>"
    try:
        made: str = convert(_plain(tex), display="block" if block else "inline")
    except Exception:  # noqa: BLE001 - the reader of formulas fails in its own ways; the formula is shown as text
        return written
    return _safe(made) or written


def _plain(tex: str) -> str:
    return " ".join(tex.split())


def _safe(mathml: str) -> str:
    """Return MathML with nothing in it but elements of MathML; empty where it is none."""
    from xml.etree.ElementTree import Element, ParseError, fromstring, tostring

    try:
        root: Element = fromstring(mathml)  # noqa: S314 - made by us a line ago; has no document type to abuse
    except ParseError:
        return ""
    for element in root.iter():
        name = str(element.tag).rpartition("}")[2]
        if not name.startswith("m") or name == "maction":
            return ""
        element.tag = name
        for key in [key for key in element.attrib if key.rpartition("}")[2] in {"href", "style", "id", "class"}]:
            del element.attrib[key]
        for key in [key for key in element.attrib if key.startswith("on")]:
            del element.attrib[key]
    return tostring(root, encoding="unicode")
