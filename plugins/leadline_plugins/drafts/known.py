"""The evidence that a draft may cite, and how its ids are read where a model writes them its own way."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from leadline.citations import cite
from leadline.records import Evidence

SHAPE = r"[eE][0-9a-fA-F]{10}"
"""How the ids of evidence look: what has this form and is none of a section's would be noise to a reader."""
_SHAPED = re.compile(SHAPE)
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


@dataclass(frozen=True)
class Known:
    """The ids of a section's evidence; `loose` by their lower case, those that other forms than `[@id]` may name."""

    exact: frozenset[str]
    loose: Mapping[str, str]

    @classmethod
    def of(cls, ids: Iterable[str], quotes: Iterable[str] = ()) -> Known:
        """Return them; an id that a page names itself is read in no other form, or the page could cite."""
        exact, said = frozenset(ids), "\n".join(quotes).casefold()
        found = set(_WITHIN.findall(said))  # once, for to look for each of hundreds took the time of as many texts

        def stands(name: str) -> bool:
            return name[1:] in found if _SHAPED.fullmatch(name) else name in said

        return cls(exact, {name.casefold(): name for name in sorted(exact) if not stands(name.casefold())})

    @classmethod
    def of_evidence(cls, evidence: Collection[Evidence]) -> Known:
        """Return those of some evidence, which is quoted."""
        return cls.of((item.id for item in evidence), (item.quote for item in evidence))

    def named(self, text: str) -> bool:
        """Return whether a text names one of them, in whatever form."""
        return any(word in self.exact or word.casefold() in self.loose for word in _WORD.findall(text))

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

    def read(self, inside: str, *, square: bool) -> str | None:
        """Return the citations that a bracket holds; empty where what it cites is not there, None for other text."""
        alone = inside.strip()
        if not (
            "@" in inside or _SHAPED.search(inside) or (square and (alone.casefold() in self.loose or self.near(alone)))
        ):
            return None
        found: list[str] = []
        foreign = False
        for token in filter(None, _APART.split(inside)):
            token = _LOCATED.sub(r"\1", token.removeprefix("^").strip("<>"))
            name = self.id(token) if square or "@" in token or shaped(token) else ""
            name = name or (self.near(token) if square else "")
            if name:
                found.append(name)
            elif shaped(token) or (square and token.startswith("@")):
                foreign = True
            elif not _LOCATOR.fullmatch(token):
                return None
        if not found and not foreign:
            return None
        return "".join(map(cite, dict.fromkeys(found)))


def shaped(token: str) -> bool:
    """Return whether a token looks like an id of evidence."""
    return bool(_SHAPED.fullmatch(_PREFIX.sub("", token.lstrip("@").strip(_QUOTES), count=1)))
