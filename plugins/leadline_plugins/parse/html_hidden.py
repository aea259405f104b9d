"""What a page hides from its readers: removed before anything else looks at it.

Hidden text is where instructions to machines stand. What hides by a stylesheet of other sites cannot be seen here;
what hides by the page's own, as far as it names classes or ids, can.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_NEVER_SEEN = (
    "//script | //style | //template | //noscript | //iframe | //object | //embed | //svg | //canvas | //audio"
    " | //video | //select | //textarea | //datalist | //dialog[not(@open)] | //comment() | //processing-instruction()"
    " | //*[@hidden and not(@hidden='until-found')] | //*[@aria-hidden='true' and not(ancestor-or-self::math)]"
)
_HIDES = re.compile(
    r"""display:none | visibility:(hidden|collapse) | opacity:0?\.?0*(?![.\d])
    | font-size:0*\.?0*(px|em|rem|pt|%)?(?=;|!|$)
    | text-indent:-\d{3,} | (left|top|right|bottom|margin-left|margin-top):-\d{4,} | clip:rect\([01]
    | clip-path:inset\((50|100)% | content-visibility:hidden
    | (?<![-\w])(height|width):[01](px)?(?=;|!|$)(?=.*overflow:hidden)""",
    re.VERBOSE,
)
_READERS = {"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "screen-reader-only"}
"""Classes by which the usual frameworks hide what is meant for screen readers."""
_AT_RULES = re.compile(r"@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})")
_RULES = re.compile(r"([^{}]{1,2000})\{([^{}]*)\}")
_PLAIN = re.compile(r"[.#][\w-]+")
_CSS = 300_000
"""Characters of a page's own stylesheets that are looked through."""


def remove_hidden(tree: Any) -> None:
    """Remove what cannot be seen, and keep what stands behind it."""
    hidden = list(_styled(tree))
    for element in [*tree.xpath(_NEVER_SEEN), *hidden]:
        if element.getparent() is not None and element.tag not in ("body", "html"):
            element.drop_tree()


def _styled(tree: Any) -> Iterator[Any]:
    """Yield what is hidden by its own style, its class or its id."""
    names = _hidden_names(tree) | {f".{name}" for name in _READERS}
    for element in tree.xpath("//*[@style or @class or @id]"):
        called = {f"#{element.get('id')}", *(f".{name}" for name in element.get("class", "").split())}
        if hides(element.get("style", "")) or not called.isdisjoint(names):
            yield element


def hides(style: str) -> bool:
    """Tell whether declarations make something invisible."""
    return bool(_HIDES.search("".join(style.lower().split())))


def _hidden_names(tree: Any) -> set[str]:
    """Return the classes and ids (with their mark) that the page's own stylesheets hide and do not show again."""
    css = "".join(element.text or "" for element in tree.iter("style"))[:_CSS]
    names: set[str] = set()
    for selectors, style in _RULES.findall(_AT_RULES.sub("", css)):
        plain = {part.strip() for part in selectors.split(",") if _PLAIN.fullmatch(part.strip())}
        if hides(style):
            names |= plain
        elif "display" in style or "visibility" in style or "opacity" in style:
            names -= plain
    return names
