"""The object of a reply that is meant, of all that could be; and prose where an object was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from leadline.citations import cited
from leadline.coercion import coerced
from leadline.cutting import whole_part, whole_sentences
from leadline.lenient import unfenced
from leadline.records import Record
from leadline.shapes import natural
from leadline.unwrapping import known, unwrapped
from leadline.wire import without_surrogates

R = TypeVar("R", bound=Record)
_PROSE = 200
"""Characters from which prose is a text, and no remark about it."""


class Best(Generic[R]):
    """The reply that fits best so far; `problem` says why none does."""

    def __init__(self, reply: type[R]) -> None:
        self._reply = reply
        self._rank = (False, -1, False)
        self.found: R | None = None
        self.problem = "there is no JSON object in it"
        self.certain = False
        """Whether the best is no part of a larger object, and fits as it stands."""

    def consider(self, value: object, *, whole: bool = False, cut: bool = False) -> None:
        """Take an object, or what it is wrapped around, where it fits better."""
        trees = list(unwrapped(value, self._reply))
        if not trees and self.found is None:
            self.problem = f"it has none of the fields {', '.join(self._reply.model_fields)}"
        for tree in trees:
            if self._take(tree, whole, cut, outer=tree is value):
                return

    def _take(self, tree: Mapping[str, Any], whole: bool, cut: bool, *, outer: bool) -> bool:
        """Take an object where it fits, and say whether it does: as it stands, else leniently."""
        try:
            clean = without_surrogates(tree)
            meant = coerced(clean, self._reply)
            meant = whole_part(meant, self._reply) if cut else meant
            as_said = outer and not cut and meant == clean
            read = self._read(meant)
            if outer and not cut and not as_said and (strict := self._read(clean, aloud=False)) is not None:
                read, as_said = read or strict, bool(clean.keys() & self._reply.model_fields.keys())
        except RecursionError as error:
            self.problem = _told(error)
            return False
        if read is not None:
            certain = whole and as_said
            rank = (certain, known(clean, self._reply), as_said)
            if rank > self._rank:
                self.found, self._rank, self.certain = read, rank, certain
        return read is not None

    def _read(self, tree: Mapping[str, Any], *, aloud: bool = True) -> R | None:
        try:
            return self._reply.model_validate(tree)
        except (ValidationError, OverflowError, RecursionError) as error:
            self.problem = _told(error) if aloud else self.problem
            return None


def prose(said: str, reply: type[R], *, cut: bool = False) -> R | None:
    """Return prose as the one text that a reply consists of; None for what is short, cites nothing or is JSON."""
    text = unfenced(said)
    name = natural(reply)
    if len(reply.model_fields) > 1 or not name or text.startswith(("{", "[{")) or f'"{name}"' in text:
        return None
    text = without_surrogates(whole_sentences(text) if cut else text)
    return reply.model_validate({name: text}) if len(text) >= _PROSE and cited(text) else None


def _told(error: ValidationError | OverflowError | RecursionError) -> str:
    if isinstance(error, OverflowError):
        return "a number in it is beyond all measure"
    if isinstance(error, RecursionError):
        return "it nests too deep"
    first = error.errors(include_url=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'the object'}: {first['msg']}"
