"""What a page hides from its readers: left out before anything else looks at the text.

Hidden text is where instructions to machines are put. What the page's own stylesheet hides by class or id is
recognised; what a stylesheet in another file hides is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_HIDES = re.compile(
    r"""display:none | visibility:(hidden|collapse) | opacity:0?\.?0*(?![.\d])
    | font-size:0*\.?0*(px|em|rem|pt|%)?(?=;|!|$)
    | text-indent:-\d{3,} | (left|top|right|bottom|margin-left|margin-top):-\d{4,} | clip:rect\([01]
    | clip-path:inset\((50|100)% | content-visibility:hidden
    | (?<![-\w])(height|width):[01](px)?(?=;|!|$)(?=.*overflow:hidden)""",
    re.VERBOSE,
)
_FRAMEWORKS = frozenset({
    "d-none", "hidden", "hide", "screen-reader-only", "screen-reader-text", "sr-only", "visually-hidden",
    "visuallyhidden",
})  # fmt: skip
"""Classes by which the usual frameworks hide, some of it from all but screen readers."""
_AT_RULES = re.compile(r"@[^{};]*(?:;|\{(?:[^{}]*\{[^{}]*\})*[^{}]*\})")
_RULES = re.compile(r"([^{}]{1,2000})\{([^{}]*)\}")
_SIMPLE = re.compile(r"[.#][\w-]+")
_CSS = 300_000
"""Characters of a page's own stylesheets that are read."""


class Hidden:
    """Tells which elements of a page are hidden. `css` is the text of the page's own stylesheets."""

    def __init__(self, css: str = "") -> None:
        self.names = _hidden_names(css[:_CSS])
        """Classes and ids, with their sign."""

    def __call__(self, tag: str, attributes: Mapping[str, str | None]) -> bool:
        """Return whether an element is hidden by an attribute, its own style, its class or its id."""
        if tag == "dialog" and "open" not in attributes:
            return True
        if not attributes:
            return False
        if "hidden" in attributes and attributes["hidden"] != "until-found":
            return True
        if attributes.get("aria-hidden") == "true" and tag not in ("math", "body", "main", "article"):
            return True
        style, classes = attributes.get("style"), attributes.get("class")
        if style and hides(style):
            return True
        named = classes.split() if classes else []
        if not _FRAMEWORKS.isdisjoint(named):
            return True
        return bool(self.names) and (
            f"#{attributes.get('id')}" in self.names or any(f".{name}" in self.names for name in named)
        )


def hides(style: str) -> bool:
    """Return whether declarations make an element invisible."""
    return bool(_HIDES.search("".join(style.lower().split())))


def _hidden_names(css: str) -> frozenset[str]:
    """Return the classes and ids that the stylesheets hide and do not show again."""
    names: set[str] = set()
    for selectors, style in _RULES.findall(_AT_RULES.sub("", css)):
        simple = {part.strip() for part in selectors.split(",") if _SIMPLE.fullmatch(part.strip())}
        if hides(style):
            names |= simple
        elif "display" in style or "visibility" in style or "opacity" in style:
            names -= simple
    return frozenset(names)
