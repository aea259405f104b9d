"""What a question asks for: its terms, its names, its parts, and the kind of answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from leadline_plugins.ai.embedded.names import names
from leadline_plugins.text import content_words, language

Kind = Literal["person", "time", "place", "number", "reason", "manner", "thing"]


@dataclass(frozen=True)
class Asked:
    """A question taken apart."""

    text: str
    language: str
    terms: tuple[str, ...]
    """Content words as index tokens, each once."""
    names: tuple[str, ...]
    parts: tuple[str, ...]
    """Sub-questions that can be asked alone, where it has several."""
    kind: Kind
    broad: bool
    """Whether the answer is an account rather than a fact."""


_KINDS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "number",
        re.compile(
            r"\bhow (?:many|much|old|tall|long|far|large|big|high|fast|often)\b|\b(?:percentage|population|number) of\b|多少|几[个個名位座种次条人岁]|幾|いくつ|何[人個回年間歳位番枚台冊社か国%パ円キメ]|どのくらい|どれくらい",
            re.I,
        ),
    ),  # fmt: skip
    (
        "time",
        re.compile(
            r"\bwhen\b|\bwh(?:at|ich) (?:year|date|day|month|century|decade)\b|哪[一]?年|何时|何時|什么时候|什麼時候|哪天|几月|いつ|何年|何月|何世紀",
            re.I,
        ),
    ),  # fmt: skip
    ("person", re.compile(r"\bwho(?:m|se)?\b|谁|誰|哪位|哪个人|何人", re.I)),
    (
        "place",
        re.compile(
            r"\bwhere\b|\bwh(?:at|ich) (?:city|country|state|place|county|town|location|province|region)\b|哪里|哪裡|哪儿|何处|何處|位于|どこ|何県|何市",
            re.I,
        ),
    ),  # fmt: skip
    ("reason", re.compile(r"\bwhy\b|\bwhat (?:caused|causes)\b|为什么|為什麼|为何|為何|なぜ|どうして|原因|理由", re.I)),
    ("manner", re.compile(r"\bhow\b|怎么|怎麼|怎样|怎樣|如何|どのように|どうやって", re.I)),
)
_BROAD = re.compile(r"\b(?:explain|describe|overview|compare|comparison|discuss|summari[sz]e|introduc|history of|review|survey)\w*|介绍|介紹|比较|比較|概述|说明|説明|紹介|概要", re.I)  # fmt: skip
_PART = re.compile(r"[?？；;]\s*|,?\s+and\s+(?=(?:how|why|what|when|where|which|who|is|are|does|do|did|can)\b)", re.I)
_ENOUGH = 2
"""Content words a part needs to be asked alone."""


@lru_cache(maxsize=256)
def asked(text: str) -> Asked:
    """Take a question apart."""
    kind = next((kind for kind, pattern in _KINDS if pattern.search(text)), "thing")
    parts = tuple(part.strip() for part in _PART.split(text) if part and len(content_words(part)) >= _ENOUGH)
    return Asked(
        text=text,
        language=language(text),
        terms=tuple(dict.fromkeys(content_words(text))),
        names=names(text),
        parts=parts if len(parts) > 1 else (),
        kind=kind,
        broad=bool(_BROAD.search(text)) or kind in ("reason", "manner"),
    )
