"""What a question asks for: its terms, its names, its parts, and the kind of answer."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache

from leadline_plugins.ai.embedded.kinds import Kind, kind_of, wants_account
from leadline_plugins.ai.embedded.names import names
from leadline_plugins.text import content_words, language


@dataclass(frozen=True)
class Asked:
    """A question taken apart."""

    text: str
    language: str
    terms: tuple[str, ...]
    """Content words as index tokens, each once."""
    names: tuple[str, ...]
    parts: tuple[str, ...]
    """Sub-questions, where it has several."""
    kind: Kind
    account: bool
    """Whether an account is asked for rather than a fact."""

    def words(self, terms: Container[str]) -> str:
        """Return those words of the question that hold one of the terms, as they stand in it."""
        return " ".join(word for word in self.text.split() if any(t in terms for t in content_words(word)))


_PART = re.compile(
    r"[?？；;]\s*|,?\s+and\s+(?=(?:how|why|what|when|where|which|who|is|are|does|do|did|can)\b)",
    re.IGNORECASE,
)
_ENOUGH = 2
"""Content words that a part must have to be a question of its own."""
_LONGEST = 5000
"""Characters of a question that are looked at: what lies beyond is pasted material."""


@lru_cache(maxsize=256)
def asked(text: str) -> Asked:
    """Take a question apart."""
    text = " ".join(text[:_LONGEST].split())
    parts = tuple(part for part in _PART.split(text) if len(content_words(part)) >= _ENOUGH)
    return Asked(
        text=text,
        language=language(text),
        terms=tuple(dict.fromkeys(content_words(text))),
        names=names(text),
        parts=parts if len(parts) > 1 else (),
        kind=kind_of(text),
        account=wants_account(text),
    )
