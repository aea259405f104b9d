"""The object of a reply that is meant, of all that could be; and prose where an object was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from leadline.citations import cited
from leadline.journal.wire import without_surrogates
from leadline.records import Record
from leadline.replies.coercion import coerced
from leadline.replies.complaints import complaints, lacking
from leadline.replies.cutting import whole_part, whole_sentences
from leadline.replies.lenient import Candidate, unfenced
from leadline.replies.pruning import pruned
from leadline.replies.shapes import natural
from leadline.replies.unwrapping import is_schema, known, unwrapped
from leadline.schemas import schema_of

R = TypeVar("R", bound=Record)
_PROSE = 200
"""Characters from which prose is a text, and no remark about it."""
_CITES = re.compile(r"[\[【]\^?\d{1,3}[\]】]")
"""A citation by number: `[1]`."""
_PLACEHOLDERS = frozenset({"", "...", "…", "string", "<text>", "text"})
_ROUNDS = 3
"""What is left out can show what else does not fit; so often it is looked at again."""


class Best(Generic[R]):
    """The reply that fits best so far; `problem` says why none does.

    `last`: it is not asked for again, and what need not be there is left out where it does not fit.
    """

    def __init__(self, reply: type[R], *, last: bool = False) -> None:
        self._reply = reply
        self._last = last
        self._rank = (False, -1, False)
        self.found: R | None = None
        self.problem = "there is no JSON object in it"
        self.certain = False
        """Whether the best is no part of a larger object, and fits as it stands."""
        self.broken = False
        """Whether the text of the best ended before it did."""
        self.left_out = 0
        """Items of the best that did not fit."""

    def consider(self, candidate: Candidate, *, cut: bool = False) -> None:
        """Take an object, or what it is wrapped around, where it fits as well as the best or better."""
        value = candidate.value
        trees = list(unwrapped(value, self._reply)) or list(unwrapped(value, self._reply, other_names=True))
        if not trees and self.found is None:
            self.problem = self._none_of(value)
        for tree in trees:
            if self._take(tree, candidate, cut=cut, outer=tree is value):
                return

    def guess(self, value: Mapping[str, Any]) -> bool:
        """Take an object that may be what is meant, and say so where it fits; where it does not, it was not meant."""
        problem = self.problem
        taken = self._take(value, Candidate(value, whole=False), cut=False, outer=False)
        self.problem = problem
        return taken

    def _none_of(self, value: object) -> str:
        if isinstance(value, dict) and is_schema(value, self._reply):
            none = lacking(_asked_for(self._reply), ())
            return f"you repeated the schema: fill it in with your answer, for {none}"
        return lacking(_asked_for(self._reply), value if isinstance(value, dict) else ())

    def _take(self, tree: Mapping[str, Any], candidate: Candidate, *, cut: bool, outer: bool) -> bool:
        """Take an object where it fits, and say whether it does: as it stands, else leniently."""
        try:
            clean = without_surrogates(tree)
            meant = coerced(clean, self._reply)
            meant = whole_part(meant, self._reply, severed=candidate.severed) if cut else meant
            as_said = outer and not cut and meant == clean
            read, left_out = self._read(meant)
            # Keys in another case are no fields as they stand: read so, such an object would be an empty one.
            exact = len(clean.keys() & self._reply.model_fields.keys())
            if outer and not cut and not as_said and exact and exact == known(clean, self._reply):
                strict = self._as_it_stands(clean)
                read, as_said = read or strict, strict is not None
            hollow = _hollow(clean)
        except RecursionError:
            self.problem = "it nests too deep"
            return False
        if read is None or hollow:
            self.problem = "it is only the form: fill it in with your answer" if hollow else self.problem
            return False
        certain = candidate.whole and as_said
        rank = (certain, known(clean, self._reply), as_said)
        if rank >= self._rank:  # of equals the last: it corrects what came before
            self.found, self._rank, self.certain, self.left_out = read, rank, certain, left_out
            self.broken = candidate.broken
        return True

    def _as_it_stands(self, tree: Mapping[str, Any]) -> R | None:
        try:
            return self._reply.model_validate(tree)
        except (ValidationError, OverflowError):
            return None

    def _read(self, tree: dict[str, Any]) -> tuple[R | None, int]:
        """Return the reply, and how many items of it were left out."""
        left_out, problem = 0, ""
        for _ in range(_ROUNDS):
            try:
                return self._reply.model_validate(tree), left_out
            except OverflowError:
                self.problem = "a number in it is beyond all measure"
                return None, 0
            except ValidationError as error:
                problem = problem or complaints(error, self._reply)
                items = pruned(tree, self._reply, error, last=self._last)
                if items is None:
                    break
                left_out += items
        self.problem = problem
        return None, 0


def _asked_for(reply: type[Record]) -> tuple[str, ...]:
    """Return the fields that the schema of a reply shows."""
    properties: Any = schema_of(reply)["properties"]
    return tuple(properties)


def _hollow(tree: object) -> bool:
    """Return whether an object is the form of a reply: its texts say nothing."""
    texts = list(_texts(tree))
    return bool(texts) and any(texts) and all(text.strip().casefold() in _PLACEHOLDERS for text in texts)


def _texts(tree: object) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping | list):
        for one in tree.values() if isinstance(tree, Mapping) else tree:
            yield from _texts(one)


def prose(said: str, reply: type[R], *, cut: bool = False) -> R | None:
    """Return prose as the one text that a reply needs; None for what is short, cites nothing or is JSON."""
    text = unfenced(said)
    name = natural(reply)
    if not name or text.startswith(("{", "[{")) or f'"{name}"' in text:
        return None
    text = without_surrogates(whole_sentences(text) if cut else text)
    return reply.model_validate({name: text}) if len(text) >= _PROSE and (cited(text) or _CITES.search(text)) else None
