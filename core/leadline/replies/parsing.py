"""A chat's reply, read: the object of its text that is meant, mended where need be."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from leadline.errors import BadReply
from leadline.records import Record
from leadline.replies.best import Best, prose
from leadline.replies.lenient import Candidate, listed, mended, sound, spoken
from leadline.replies.shapes import fields_of, folded, known_by, names_of, natural
from leadline.replies.unwrapping import is_schema

R = TypeVar("R", bound=Record)


class NotInForm(BadReply):
    """The reply has not the form that was asked for; its message tells the model what it lacks."""


@dataclass(frozen=True)
class Reading(Generic[R]):
    """A reply as it was read."""

    reply: R
    broken: bool = False
    """Whether its text ended before it did, whatever the vendor says."""
    left_out: int = 0
    """Items of it that did not fit."""


def parse(text: str, reply: type[R], *, cut: bool = False) -> R:
    """Read a reply, as `reading` does, without what is to be told of it. Raises `BadReply`."""
    return reading(text, reply, cut=cut).reply


def reading(text: str, reply: type[R], *, cut: bool = False, last: bool = False) -> Reading[R]:
    """Read a reply: of the JSON objects in the text the one that fits best, mended where need be. Raises `BadReply`.

    An object with none of the reply's fields is none, even where all of them have defaults: it may be a part of one
    that is broken. Of several that fit, the one with most of the fields is meant, of equals the last; two with no field
    in common are two halves; one that fits only when it is read leniently stands back. A list stands for the one field
    that takes it. `cut`: the text was cut off, and is read as far as it is whole; `last`: it is not asked for again,
    and what of it need not be there is left out where it does not fit. Prose that cites is the text of a reply that is
    nothing else.
    """
    said, best = spoken(text), Best(reply, last=last)
    whole = listed(said)
    if texts := _of_texts(whole, reply):
        return Reading(reply.model_validate(texts))
    found = list(sound(said))
    for one in (*found, *_halves(found, reply)):
        best.consider(one)
    if not best.certain:
        for one in mended(said):
            best.consider(one, cut=cut)
    if best.found is None and whole == [] and len(fields_of(reply)) == 1:
        best.guess({name: [] for name, field in fields_of(reply).items() if field.shape.kind == "list"})
    if best.found is None:
        _guess(best, whole if isinstance(whole, list) else found[-1].value if found else None, reply)
    if best.found is not None:
        return Reading(best.found, best.broken, best.left_out)
    text_alone = prose(said, reply, cut=cut)
    if text_alone is None:
        raise NotInForm(f"the reply is no {reply.__name__}: {best.problem}")
    return Reading(text_alone)


def _of_texts(value: object, reply: type[Record]) -> dict[str, Any]:
    """Return the reply that a list of several texts, or of replies that are nothing but a text, stands for."""
    name = natural(reply)
    if not isinstance(value, list) or len(value) < 2 or not name:
        return {}
    texts = [next(iter(one.values())) if isinstance(one, dict) and len(one) == 1 else one for one in value]
    alike = len({isinstance(one, dict) and next(iter(one)) for one in value}) == 1
    return {name: "\n\n".join(texts)} if alike and all(isinstance(text, str) for text in texts) else {}


def _halves(found: list[Candidate], reply: type[Record]) -> Iterator[Candidate]:
    """Yield the object that several are together where none repeats a field of another."""
    objects = [one.value for one in found if one.whole and isinstance(one.value, dict)]
    names = names_of(reply)
    fields = [{names[folded(key)] for key in one if folded(key) in names} for one in objects]
    parts = [one for one, has in zip(objects, fields, strict=True) if has]
    if len(parts) > 1 and sum(map(len, fields)) == len(set[str]().union(*fields)):
        yield Candidate({key: value for one in parts for key, value in one.items()}, whole=True)


def _guess(best: Best[Any], value: object, reply: type[Record]) -> None:
    """Take a list, or an object whose keys are ids, as the one field of a reply that takes it."""
    for name, field in fields_of(reply).items():
        shape = field.shape
        if shape.kind != "list" or shape.items[0].kind != "record":
            continue
        item = shape.items[0].model
        keyed = (
            isinstance(value, dict)
            and not is_schema(value, reply)
            and not any(known_by(key, reply) or known_by(key, item) for key in value)
        )
        if value and (keyed or isinstance(value, list)) and best.guess({name: value}):
            return
