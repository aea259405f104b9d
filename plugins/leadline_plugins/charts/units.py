"""A value with its unit, read as a figure, in whichever order a plan names the parts of the unit.

`USD billion`, `USD (billions)` and `billion USD` are one unit. Read in the wrong order its scale is lost, and a value
would pass for one of a billionth: of the orders the one that reads the most is meant.
"""

from __future__ import annotations

import re
from functools import lru_cache

from leadline_plugins.checks.figure import Figure
from leadline_plugins.checks.figures import figures
from leadline_plugins.text.tokens import has_cjk

_PER = re.compile(r"\s*(?:/|每|毎|当たり|(?<!\w)(?:per|pro|je|par|por|al|na|в|на)(?!\w)).*", re.IGNORECASE | re.DOTALL)
"""What a unit is counted by: no part of what is counted, and no scale of it."""
_WORD = re.compile(r"[^\s()（）,，;；\[\]]+")
_IN = re.compile(r"^(?:in|en|em|im)\s+", re.IGNORECASE)


@lru_cache(maxsize=512)
def read(value: float, unit: str) -> tuple[Figure, ...]:
    """Return what a value with its unit may be as figures: those that keep the scale and the kind of the unit."""
    number = f"{abs(value):.12f}".rstrip("0").rstrip(".")
    found = [figure for order in dict.fromkeys((unit, *_orders(unit))) for figure in _first(number, order)]
    most = max((figure.value for figure in found), default=0)
    found = [figure for figure in found if figure.value == most]
    return tuple([figure for figure in found if figure.unit] or found)


def _first(number: str, unit: str) -> tuple[Figure, ...]:
    return figures(f"{number}{'' if has_cjk(unit[:1]) else ' '}{unit}")[:1]


def _orders(unit: str) -> tuple[str, ...]:
    """Return a unit by other orders of its words; what it is counted by stays behind."""
    counted = _PER.sub("", unit)
    words = _WORD.findall(_IN.sub("", counted))
    if not words:
        return ()
    per = unit[len(counted) :]
    if "m" in words and any(figure.unit for figure in _first("1", " ".join(word for word in words if word != "m"))):
        words = ["million" if word == "m" else word for word in words]
    turned = (words, [*reversed(words)], [words[-1], *words[:-1]])
    return tuple(" ".join(order) + per for order in turned)
