"""The ratios of risks that a text tells: hazard, odds and rate ratios and relative risks, by their name or its letters.

A reader takes `HR 1.32` for 32% more, and says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal

_NAMED = re.compile(
    r"\ba?(?:HR|OR|RR|IRR|SHR)s?\b"
    r"|\b(?:[Hh]azards?|[Oo]dds|[Rr]isk|[Rr]ate|[Pp]revalence)[\s-]+[Rr]atios?\b|\b[Rr]elative\s+(?:[Rr]isks?|[Hh]azards?)\b"
    r"|(?:风险|風險|比值|优势|優勢|危险|危險|发病率|發病率|患病率)比|相[对對](?:风险|風險|危险|危險)度?|[ハオ](?:ザード|ッズ)比"
)
_WITHIN = 90
"""Characters behind its name in which a ratio stands: of several one name is said."""
_ENDS = re.compile(r"[;；。!?！？]|\.(?!\d)")
_SPREAD = re.compile(
    r"(?:\d\d\s?%\s?)?(?:\bCIs?\b|\b[Cc]onfidence\s+[Ii]ntervals?\b|置信区间|置信區間|信頼区間)[^;；)\]）】]*"
)
"""How far it may be off, which is no ratio that anybody found."""
_RANGE = re.compile(r"\d[.,]\d+\s?(?:[-–—~～至]|to)\s?\d+[.,]\d+")
_RATIO = re.compile(r"(?<![\d.,$€£¥])\d{1,2}[.·]\d{1,3}(?![\d%]|[.,]\d|\s?%)")
_MOST = 40
"""Names of ratios in a text that are looked at: a table may have thousands."""


def risk_ratios(text: str) -> Iterator[Decimal]:
    """Yield the ratios of risks in a text, as far as it names them so."""
    for count, named in enumerate(_NAMED.finditer(text)):
        if count == _MOST:
            return
        behind = _ENDS.split(text[named.end() : named.end() + _WITHIN], maxsplit=1)[0]
        for found in _RATIO.finditer(_RANGE.sub(" ", _SPREAD.sub(" ", behind))):
            yield Decimal(found[0].replace("·", "."))
