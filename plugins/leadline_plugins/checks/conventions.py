"""Which mark parts decimals in a language, and so which of two readings of a number is its own.

`1.250` is read as either where nothing tells the convention. Where both texts tell theirs, a claim and a passage that
agree only against one of them differ a thousandfold, perhaps: that is to be asked, and not to be taken for support.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from leadline_plugins.checks.figure import Figure, same
from leadline_plugins.text.language import language

_POINT = frozenset(("en", "zh", "zh-Hant", "ja", "ko", "th", "hi"))
_COMMA = frozenset(("de", "fr", "it", "pt", "nl", "sv", "da", "no", "fi", "pl", "cs", "hu", "ro", "tr", "ru", "uk"))
"""Spanish and Arabic are in neither: which mark it is depends on the country."""


def doubtful(claimed: Iterable[Figure], held: Iterable[Figure], claim: str, text: str) -> list[Figure]:
    """Return the figures of a claim that the passage has, but only if one of them is read against its language."""
    claimed, held = list(claimed), list(held)
    if not any(map(_ambiguous, (*claimed, *held))):
        return []
    spelled = {other.readings for other in held}
    others = [figure for figure in claimed if figure.readings not in spelled]
    open_to_doubt = [(figure, alike) for figure in others if (alike := _otherwise_spelled(figure, held))]
    if not open_to_doubt:  # most have none, and languages take time to tell
        return []
    mine, theirs = language(claim), language(text)
    return [
        figure
        for figure, alike in open_to_doubt
        if not any(same(_read(figure, mine), _read(other, theirs)) for other in alike)
    ]


def _otherwise_spelled(figure: Figure, held: list[Figure]) -> list[Figure]:
    """Return the figures that are the same as one, where a convention decides that."""
    alike = [other for other in held if same(figure, other)]
    return alike if _ambiguous(figure) or all(map(_ambiguous, alike)) else []


def _ambiguous(figure: Figure) -> bool:
    """Return whether a figure is thousands for some and has three decimals for others."""
    if len(figure.others) != 1 or figure.month or not {".", ","} & set(figure.said):
        return False
    least, greatest = sorted(figure.readings)
    return least * 1000 == greatest


def _read(figure: Figure, code: str) -> Figure:
    """Return a figure as a language reads it; as it is where the language is of no convention."""
    if not _ambiguous(figure) or code not in _POINT | _COMMA:
        return figure
    decimal = ("." in figure.said) == (code in _POINT)
    return replace(figure, value=sorted(figure.readings)[not decimal], others=())
