"""What a question asks for: its terms, its names, its parts, and the kind of answer."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from leadline_plugins.ai.embedded.kinds import MEASURE, Kind, kind_of, wants_account
from leadline_plugins.ai.embedded.names import names
from leadline_plugins.text import content_set, content_words, language, sentences, tokens
from leadline_plugins.text.language import is_unspaced
from leadline_plugins.text.stopwords import STOPWORDS, word_set


@dataclass(frozen=True)
class Asked:
    """A question taken apart."""

    text: str
    language: str
    terms: tuple[str, ...]
    """Content words as index tokens, each once."""
    measures: frozenset[str]
    """Those of the terms that only say of which kind the figure is that is asked for: `high` of `how high`."""
    phrases: Mapping[tuple[str, str], str]
    """Pairs of tokens that are a term together, to that term: `the with statement`."""
    names: tuple[str, ...]
    parts: tuple[str, ...]
    """Sub-questions, where it has several."""
    kind: Kind
    account: bool
    """Whether an account is asked for rather than a fact."""
    brief: bool
    """Whether it is as long as a brief, with its conditions or with material that was pasted into it."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the sentences of a brief that say something by themselves: as a whole it stands in no passage."""
        if not self.brief:
            return ()
        least = _SUBSTANCE * (_PAIRS if is_unspaced(self.language) else 1)
        said = (one for start, end in sentences(self.text) for one in _CLAUSE.split(self.text[start:end]))
        return tuple(one for one in said if len(asked(one).terms) >= least)

    def tokens(self, text: str) -> frozenset[str]:
        """Return the content words of a text, with the question's phrases that stand in it."""
        single = content_set(text)
        return single.union(self.phrases[pair] for pair in self._pairs(text)) if self.phrases else single

    def _pairs(self, text: str) -> Iterator[tuple[str, str]]:
        row = tokens(text)
        return (pair for pair in pairwise(row) if pair in self.phrases)

    def words(self, terms: Container[str]) -> str:
        """Return those words of the question that hold one of the terms, as they stand in it."""
        return " ".join(word for word in self.text.split() if any(t in terms for t in content_words(word)))


_PART = re.compile(
    r"[?？；;]\s*|,?\s+and\s+(?=(?:how|why|what|when|where|which|who|is|are|does|do|did|can)\b)",
    re.IGNORECASE,
)
_ENOUGH = 2
"""Content words that a part must have to be a question of its own."""
_LONG = 20
"""Words beyond which a question is a brief: no single sentence answers it."""
_PAIRS = 2
"""Pairs of characters that are counted as a word, where there are no spaces."""
_SUBSTANCE = 6
"""Words that a sentence of a brief must have to be looked at by itself."""
_CLAUSE = re.compile(r"[:：]\s+|(?<=：)")
_LONGEST = 5000
"""Characters of a question that are looked at: what lies beyond is pasted material."""


_SUBJECT = re.compile(r"\b(?:the|an?)\s+[\"'“‘`]*(\w+)[\"'”’`]*\s+(?=(\w+))", re.IGNORECASE)
_REQUEST = re.compile(
    r"\b(?:explain|describe|discuss|summari[sz]e|outline|tell|give|introduc(?:e|tion)|overview)\b"
    r"|(?<=\s)works?(?=\s*[?.]?$)|[请請]?(?:介[绍紹]|概述|[说說]明)|について(?:説明|紹介)",
    re.IGNORECASE,
)
"""What is to be done with the topic, not the topic."""
_ORDINARY = word_set("same other most more own only both such very just first")
"""Stop words that may stand behind an article and still say nothing."""


def _phrases(text: str) -> dict[tuple[str, str], str]:
    """Return the pairs in which a stop word is what is spoken of, as its place behind an article shows."""
    pairs = [match.groups() for match in _SUBJECT.finditer(text)]
    named = [(a.lower(), b) for a, b in pairs if a.lower() in STOPWORDS["en"] - _ORDINARY]
    return {(a, tokens(b)[0]): f"{a} {tokens(b)[0]}" for a, b in named if content_words(b)}


def _measures(text: str, terms: Iterable[str]) -> frozenset[str]:
    """Return the terms that stand in a question for the kind of its figure alone, where it has others, too."""
    rest = content_set(MEASURE.sub(" ", text))
    return frozenset(terms) - rest if rest and MEASURE.search(text) else frozenset()


@lru_cache(maxsize=256)
def asked(text: str) -> Asked:
    """Take a question apart."""
    text = " ".join(text[:_LONGEST].split())
    phrases = _phrases(text)
    whole = content_words(_REQUEST.sub(" ", text)) or content_words(text)
    terms = tuple(dict.fromkeys([*whole, *phrases.values()]))
    code = language(text)
    brief = len(terms) > _LONG * (_PAIRS if is_unspaced(code) else 1)
    parts = tuple(part for part in _PART.split(text) if len(content_words(part)) >= _ENOUGH)
    return Asked(
        text=text,
        language=code,
        terms=terms,
        measures=_measures(text, whole),
        phrases=phrases,
        names=names(text),
        parts=parts if len(parts) > 1 else (),
        kind=kind_of(text),
        account=brief or wants_account(text),
        brief=brief,
    )
