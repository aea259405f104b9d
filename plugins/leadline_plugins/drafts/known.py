"""The evidence that a draft may cite, and how its ids are read where a model writes them its own way."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol

from leadline.citations import cite
from leadline_plugins.text import content_set, sentences

SHAPE = r"[eE][0-9a-fA-F]{10}"
"""How the ids of evidence look: what has this form and is none of a section's would be noise to a reader."""
SOURCE_SHAPE = r"[sS][0-9a-fA-F]{10}"
"""How those of sources look, which stand beside the passages that a writer is shown."""
_SHAPED = re.compile(SHAPE)
_OF_SOURCE = re.compile(rf"(?<!\w){SOURCE_SHAPE}(?!\w)")
_WITHIN = re.compile("e(?=([0-9a-f]{10}))")
"""Every id of that form in a caseless text, without its first letter; also those that lie in another one."""
_WORD = re.compile(r"[\w-]+")
_QUOTES = "\"'“”‘’`"
_PREFIX = re.compile(
    r"(?:(?:evidence|passage|source)[-_]ids?|evidence|passage|source|ids?|refs?)[-_:#=]@?(?=\S)", re.IGNORECASE
)
_LOCATED = re.compile(rf"(\S{{0,12}}{SHAPE})(?:†|[:#](?=[\dLlPp])).*", re.DOTALL)
"""An id with the place in its source that a tool adds."""
_NEAR = re.compile(r"[eE]?[0-9a-fA-F]{6,10}")
"""What may be an id of which a model lost the first letter, or the last digits."""
_APART = re.compile(r"[\s,;，；、&|]+")
_LOCATOR = re.compile(
    r"(?:pp?|ss?|chap|sec|para|art|fig|vgl|cf|e\.g|ibid|n|no|nr)\.?\d{0,4}|§+\d{0,4}|(?:pages?|lines?|chapter|section|paragraph"
    r"|see|also|and|und|et|in|sources?|evidence|passages?|ids?|refs?|(?:evidence|passage|source)[_-]ids?):?|\d{1,4}[a-z]?(?:[-–—]\d{1,4})?\.?",
    re.IGNORECASE,
)
"""Words beside the ids in a bracket that say where in the source, or join two."""
_FEWEST, _FURTHER = 3, 1.5
"""Words that a statement shares with the passage of its source that it is from, and how many times those of others."""
_BEFORE = 600
"""Characters before a mark in which the statement begins that it stands behind."""
_BESIDE = 16
"""Characters before a mark that tell whether it was copied with them."""


class Passage(Protocol):
    """A quote that may be cited: of the evidence, or as a writer is shown it."""

    @property
    def id(self) -> str: ...
    @property
    def quote(self) -> str: ...
    @property
    def source_id(self) -> str: ...


@dataclass(frozen=True)
class Known:
    """The ids of a section's evidence; `loose` by their lower case, those that other forms than `[@id]` may name.

    `sources` has by the id of a source, in lower case, the ids and the quotes of its passages.
    """

    exact: frozenset[str]
    loose: Mapping[str, str]
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    quotes: str = ""
    """The words of all of them."""

    @classmethod
    def of(cls, ids: Iterable[str], quotes: Iterable[str] = ()) -> Known:
        """Return them; an id that a page names itself is read in no other form, or the page could cite."""
        exact, said = frozenset(ids), "\n".join(quotes).casefold()
        found = set(_WITHIN.findall(said))  # once, for to look for each of hundreds took the time of as many texts

        def stands(name: str) -> bool:
            return name[1:] in found if _SHAPED.fullmatch(name) else name in said

        return cls(exact, {name.casefold(): name for name in sorted(exact) if not stands(name.casefold())})

    @classmethod
    def of_evidence(cls, evidence: Collection[Passage]) -> Known:
        """Return those of some evidence, which is quoted."""
        made = cls.of((item.id for item in evidence), (item.quote for item in evidence))
        quotes = _squeezed("\n".join(item.quote for item in evidence))
        sources: dict[str, dict[str, str]] = {}
        for item in evidence:
            if (name := item.source_id.casefold()) and name not in quotes:
                sources.setdefault(name, {})[item.id] = item.quote
        return replace(made, sources=sources, quotes=quotes)

    def named(self, text: str) -> bool:
        """Return whether a text names one of them, or a source of theirs, in whatever form."""
        words = _WORD.findall(text)
        return any(
            word in self.exact or (folded := word.casefold()) in self.loose or folded in self.sources for word in words
        )

    def copied(self, before: str, mark: str) -> bool:
        """Return whether a mark behind these words stands behind them in a passage as well: it is the page's own."""
        said = before[-_BESIDE:]
        return bool(_WORD.search(said)) and _squeezed(f"{said}{mark}") in self.quotes

    def of_source(self, token: str, before: str = "") -> str:
        """Return the passage that a token means by its source's id: its only one, or what is said `before` is from it.

        Empty where it names none of the sources, or several of its passages may be meant.
        """
        passages = self.sources.get(token.lstrip("@").strip(_QUOTES).casefold(), {})
        if len(passages) < 2:
            return next(iter(passages), "")
        said = before[-_BEFORE:]
        spans = list(sentences(said))
        words = content_set(said[spans[-1][0] :]) if spans else frozenset[str]()
        shared = sorted(((len(words & content_set(quote)), name) for name, quote in passages.items()), reverse=True)
        (most, name), (next_most, _) = shared[:2]
        return name if most >= max(_FEWEST, _FURTHER * next_most) else ""

    def id(self, token: str) -> str:
        """Return the id that a token names: `@a`, `a`, `id:a`, `evidence-A`; empty where it is none of these."""
        bare = token.lstrip("@").strip(_QUOTES)
        stripped = _PREFIX.sub("", bare, count=1)
        return self.loose.get(bare.casefold()) or self.loose.get(stripped.casefold(), "")

    def near(self, token: str) -> str:
        """Return the only id that a token can be, its first letter or its last digits lost; empty where it is none."""
        bare = token.lstrip("@").strip(_QUOTES).casefold()
        if not _NEAR.fullmatch(bare):
            return ""
        if found := self.loose.get(f"e{bare}"):
            return found
        begun = [name for folded, name in self.loose.items() if bare[0] == "e" and folded.startswith(bare)]
        return begun[0] if len(begun) == 1 else ""

    def read(self, inside: str, *, square: bool, before: str = "") -> str | None:
        """Return the citations that a bracket holds; empty where what it cites is not there, None for other text.

        `before` is what it stands behind.
        """
        alone = inside.strip()
        if not (
            "@" in inside
            or _SHAPED.search(inside)
            or self._names_source(inside)
            or (square and (alone.casefold() in self.loose or self.near(alone)))
        ):
            return None
        found: list[str] = []
        foreign = False
        for token in filter(None, _APART.split(inside)):
            token = _LOCATED.sub(r"\1", token.removeprefix("^").strip("<>"))
            name = self.id(token) if square or "@" in token or shaped(token) else ""
            name = name or (self.near(token) if square else "") or self.of_source(token, before)
            if name:
                found.append(name)
            elif shaped(token) or token.casefold() in self.sources or (square and token.startswith("@")):
                foreign = True
            elif not _LOCATOR.fullmatch(token):
                return None
        if not found and not foreign:
            return None
        return "".join(map(cite, dict.fromkeys(found)))

    def _names_source(self, inside: str) -> bool:
        return any(found[0].casefold() in self.sources for found in _OF_SOURCE.finditer(inside))


def _squeezed(text: str) -> str:
    """Return the words of a text: a page may set its marks, and what stands around them, in another way."""
    return f"{' '.join(_WORD.findall(text.casefold()))} "


def shaped(token: str) -> bool:
    """Return whether a token looks like an id of evidence."""
    return bool(_SHAPED.fullmatch(_PREFIX.sub("", token.lstrip("@").strip(_QUOTES), count=1)))
