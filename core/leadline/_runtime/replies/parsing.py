"""Parses the reply of a chat: finds the JSON object that is the reply, makes it a record, accepts or refuses it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from leadline._runtime.replies.coercion import (
    Shape,
    as_reply,
    coerce,
    field_named,
    fields_of,
)
from leadline._runtime.replies.json_reader import (
    Candidate,
    repaired_objects,
    sound_objects,
    unfenced,
    without_thoughts,
)
from leadline._runtime.replies.salvage import prune, whole_part, whole_sentences
from leadline.citations import cited
from leadline.encoding import without_surrogates
from leadline.errors import BadReply
from leadline.records import ChatReply, Notice, Record
from leadline.schemas import schema_of
from leadline.tasks import Talk, Task, checked

# Levels of wrappers around a reply.
_DEEPEST = 3


def known(tree: Mapping[str, Any], model: type[Record]) -> int:
    """Return how many fields of the model an object has, ignoring the case of its keys."""
    return len({field_named(key, model) for key in tree} - {""})


def unwrap(value: object, model: type[Record], deep: int = 0, least: int = 0) -> Iterator[Mapping[str, Any]]:
    """Yield the objects that may be the reply, outermost first; an inner one only if it has more of the fields.

    This way a part of a reply that does not fit is not mistaken for all of it.
    """
    if not isinstance(value, dict) or is_schema(value, model):
        return
    if (fields := known(value, model)) > least or not (value or deep):
        yield value
        least = fields
    if deep < _DEEPEST:
        objects = filter(None, map(_single_object, value.values()))
        for inner in sorted(objects, key=lambda inner: -known(inner, model)):
            yield from unwrap(inner, model, deep + 1, least)


def is_schema(value: Mapping[str, Any], model: type[Record]) -> bool:
    """Return whether an object is a JSON schema rather than a reply with such fields."""
    if model.model_fields.keys() & {"$schema", "$defs", "properties"}:
        return False
    described = value.get("type") == "object" and isinstance(value.get("properties"), dict)
    return described or "$schema" in value or "$defs" in value


def _single_object(value: object) -> dict[str, Any] | None:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, dict) else None


R = TypeVar("R", bound=Record)
# From this number of characters on, prose is a text and not a remark about the task.
_PROSE = 200
# A citation by number: `[1]`.
_CITES = re.compile(r"[\[【]\^?\d{1,3}[\]】]")
# Leaving out one item can reveal further errors; validation is repeated this often.
_ROUNDS = 3


class Best(Generic[R]):
    """The best match for the reply so far; `problem` explains why nothing matches.

    With `last`, there is no further attempt, and optional parts that do not fit are left out.
    """

    def __init__(self, reply: type[R], *, last: bool = False) -> None:
        self._reply = reply
        self._last = last
        self._rank = (False, -1, False)
        self.found: R | None = None
        self.problem = "there is no JSON object in it"
        # True if the best match is not part of a larger object and fits unchanged.
        self.certain = False
        # True if the text of the best match ended before the object did.
        self.broken = False
        # Number of items of the best match that did not fit.
        self.left_out = 0

    def consider(self, candidate: Candidate, *, cut: bool = False) -> None:
        """Accept an object, or one that it wraps, if it matches at least as well as the best so far."""
        value = candidate.value
        trees = list(unwrap(value, self._reply))
        if not trees and self.found is None:
            self.problem = explain_missing(_fields(self._reply), value if isinstance(value, dict) else ())
        for tree in trees:
            if self._take(tree, candidate, cut=cut, outer=tree is value):
                return

    def _take(self, tree: Mapping[str, Any], candidate: Candidate, *, cut: bool, outer: bool) -> bool:
        """Accept an object if it matches, unchanged or after coercion; return whether it does."""
        try:
            clean = without_surrogates(tree)
            coerced = coerce(clean, self._reply)
            coerced = whole_part(coerced, self._reply, severed=candidate.severed) if cut else coerced
            unchanged = outer and not cut and coerced == clean
            read, left_out = self._read(coerced)
        except RecursionError:
            self.problem = "it nests too deep"
            return False
        if read is None:
            return False
        certain = candidate.whole and unchanged
        rank = (certain, known(clean, self._reply), unchanged)
        if rank >= self._rank:  # of equals the last: it corrects what came before
            self.found, self._rank, self.certain, self.left_out = read, rank, certain, left_out
            self.broken = candidate.broken
        return True

    def _read(self, tree: dict[str, Any]) -> tuple[R | None, int]:
        """Return the validated reply and the number of items that were left out."""
        left_out, problem = 0, ""
        for _ in range(_ROUNDS):
            try:
                return self._reply.model_validate(tree), left_out
            except OverflowError:
                self.problem = "a number in it is beyond all measure"
                return None, 0
            except ValidationError as error:
                problem = problem or explain_errors(error, self._reply)
                items = prune(tree, self._reply, error, last=self._last)
                if items is None:
                    break
                left_out += items
        self.problem = problem
        return None, 0


def prose(reply_text: str, reply: type[R], *, cut: bool = False) -> R | None:
    """Return prose as the only required text of a reply; None if it is short, cites nothing or is JSON."""
    text = unfenced(reply_text)
    tree = as_reply(reply, without_surrogates(whole_sentences(text) if cut else text))
    if not tree or text.startswith(("{", "[{")) or f'"{next(iter(tree))}"' in text:
        return None
    return reply.model_validate(tree) if len(text) >= _PROSE and (cited(text) or _CITES.search(text)) else None


class WrongForm(BadReply):
    """The reply does not have the requested form; the message is written for the model."""


@dataclass(frozen=True)
class ParsedReply(Generic[R]):
    """A parsed reply."""

    reply: R
    broken: bool = False
    """True if the text ended before the object did, whatever finish reason the vendor reports."""
    left_out: int = 0
    """Number of items that did not fit."""


def parse(text: str, reply: type[R], *, cut: bool = False) -> R:
    """Parse a reply to its record. Raises `BadReply`."""
    return parse_reply(text, reply, cut=cut).reply


def parse_reply(text: str, reply: type[R], *, cut: bool = False, last: bool = False) -> ParsedReply[R]:
    """Parse a reply: choose the JSON object in the text that matches best. Raises `BadReply`.

    * An object without any field of the reply is not a reply, even if all fields have defaults.
    * Of several matches, the one with the most fields wins; among equals, the last. An object that needs coercion loses
      against one that does not.
    * Prose with citations is the text of a reply that only requires a text.

    `cut`: the text was cut off; only its complete part is used. `last`: the model is not asked again, so optional parts
    that do not fit are left out.
    """
    reply_text, best = without_thoughts(text), Best(reply, last=last)
    for candidate in sound_objects(reply_text):
        best.consider(candidate)
    if not best.certain:
        for candidate in repaired_objects(reply_text):
            best.consider(candidate, cut=cut)
    if best.found is not None:
        return ParsedReply(best.found, best.broken, best.left_out)
    text_alone = prose(reply_text, reply, cut=cut)
    if text_alone is None:
        raise WrongForm(f"the reply is no {reply.__name__}: {best.problem}")
    return ParsedReply(text_alone)


# --- problems, explained to a model -----------------------------------------------------------------------------------


# Number of problems to report; given more, models correct only the first ones.
_MOST = 5
# Characters to quote of a wrong value.
_SAID = 60
# Number of unexpected keys to list beside a missing one.
_KEYS = 4
_WANTED = {
    "text": "a text",
    "number": "a number, without quotes, signs or units",
}
_BY_ERROR = {"bool": "true or false", "int": "a whole number", "string": "a text", "float": _WANTED["number"]}
Place = Sequence[int | str]


def explain_errors(error: ValidationError, model: type[Record]) -> str:
    """Return the problems of a reply, one clause each."""
    complaints = dict.fromkeys(_complaint(problem, model) for problem in error.errors(include_url=False))
    shown, more = list(complaints)[:_MOST], len(complaints) - _MOST
    return "; ".join([*shown, f"and {more} more like these"] if more > 0 else shown)


def explain_missing(wanted: str, keys: Iterable[Any]) -> str:
    """Return a message that names the expected fields and the keys found instead."""
    there = [f'"{str(key)[:_SAID]}"' for key in keys][:_KEYS]
    written = f" (you wrote {', '.join(there)})" if there else ""
    return f"it has none of the fields {wanted}{written}"


def _complaint(error: Any, model: type[Record]) -> str:
    path, value = list(error["loc"]), error["input"]
    if error["type"] == "missing":
        holder = _shape(path[:-1], model)
        others = _others(value, holder.model if holder else model)
        return f'{_path(path[:-1]) or "the object"} lacks "{path[-1]}"{others}'
    wanted = _wanted(error, _shape(path, model))
    return f"{_path(path) or 'the reply'} must be {wanted}; you wrote {_short(value)}"


def _others(value: Any, model: type[Record]) -> str:
    """Return the unexpected keys: one of them may be the missing field."""
    keys = [key for key in value if not field_named(key, model)][:_KEYS] if isinstance(value, dict) else []
    return f" (you wrote {', '.join(json.dumps(str(key)[:_SAID], ensure_ascii=False) for key in keys)})" if keys else ""


def _wanted(error: Any, shape: Shape | None) -> str:
    if shape is not None:
        if shape.kind == "choice":
            return f"one of {', '.join(json.dumps(choice) for choice in shape.choices)}"
        if shape.kind == "record":
            return f"an object with the fields {_fields(shape.model)}"
        if shape.kind == "list":
            inside = shape.items[0]
            return f"a list of objects with the fields {_fields(inside.model)}" if inside.kind == "record" else "a list"
        if shape.kind in _WANTED:
            return _WANTED[shape.kind]
    kind = error["type"].partition("_")[0]
    return _BY_ERROR.get(kind) or error["msg"].removeprefix("Input should be ").removeprefix("a valid ")


def _fields(model: type[Record]) -> str:
    properties: Any = schema_of(model)["properties"]
    return ", ".join(properties)


def _shape(path: Place, model: type[Record]) -> Shape | None:
    """Return the shape at a place; None if only pydantic understands it."""
    shape = Shape("record", model=model)
    for step in path:
        if shape.kind == "record" and step in fields_of(shape.model):
            shape = fields_of(shape.model)[str(step)].shape
        elif shape.kind == "list":
            shape = shape.items[0]
        else:
            return None
    return shape


def _path(path: Place) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    text = "".join(steps).removeprefix(".")
    return f'"{text}"' if len(path) == 1 else text


def _short(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        return "what cannot be read"
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"


# --- acceptance -------------------------------------------------------------------------------------------------------


CUT = "the reply was cut off at the model's limit of length"
FILTERED = "the vendor's content filter stopped the reply"
_WRONG_FORM = Notice("it does not have the requested form", "form")
# By its reason to finish: the notice, and its code, of a last reply of which a part is used.
_PARTLY_USED = {
    "length": ("{task}: the second reply was cut off at the length limit; its complete part is used", "cut"),
    "content_filter": ("{task}: the vendor's content filter stopped the reply; its complete part is used", "filtered"),
}
_BROKEN = ("{task}: the second reply ended in the middle; its complete part is used", "broken")


def read(reply: ChatReply, task: Task[R]) -> ParsedReply[R]:
    """Parse a first reply. Raises `BadReply` also if it was cut off, so that the model is asked once more.

    A task that `continues` takes the complete part instead, since it asks for the rest.
    """
    cut = reply.finish_reason == "length"
    if cut and not task.kind.continues:
        raise BadReply(Notice(CUT).because("write less"))
    parsed = parse_reply(reply.message.text, task.reply, cut=cut)
    if parsed.broken and not cut:
        raise BadReply(Notice("the reply ends in the middle").because("complete it"))
    return parsed


def describe_refusal(error: BadReply, reply: ChatReply) -> str:
    """Return for users why a reply was refused, without the instructions for the model, which are reasons of notices.

    A stopped reply is not reported as a wrong form.
    """
    if reply.finish_reason == "content_filter":
        return FILTERED
    if reply.finish_reason == "length":
        return CUT
    if isinstance(error, WrongForm):
        reason = _WRONG_FORM
    else:
        reason = Notice.several(problem.without_reason()[0] for problem in Notice.read(error.args[0]).parts)
    return Notice("the model's reply could not be used: {reason}", "unusable", reason=reason)


def accept_first(parsed: ParsedReply[R], task: Task[R]) -> tuple[R, list[str]]:
    """Return a reply that passes its check, with notices about omitted parts. Raises `BadReply`."""
    return checked(parsed.reply, task), _less(parsed, task)


def _less(parsed: ParsedReply[R], task: Task[R]) -> list[str]:
    part = "{task}: an unreadable part of the reply was left out"
    return [Notice(part, "part", task=task.name)] if parsed.left_out else []


def _partly_used(text: str, code: str, parsed: ParsedReply[R], task: Task[R]) -> Notice:
    lacks = task.kind.lacks(task.inputs, parsed.reply) if task.kind.lacks else ""
    notice = Notice(text, code, task=task.name)
    return notice.because(lacks) if lacks else notice


def accept_last(reply: ChatReply, task: Task[R]) -> tuple[R, list[str]]:
    """Return the usable part of a last reply, with notices about what is missing. Raises `BadReply`.

    A reply that the vendor's filter stopped is the last one: the filter would stop a second one as well.
    """
    text, cut = reply.message.text, _PARTLY_USED.get(reply.finish_reason)
    parsed = parse_reply(text, task.reply, cut=cut is not None, last=True)
    if parsed.broken and not cut:
        cut, parsed = _BROKEN, parse_reply(text, task.reply, cut=True, last=True)
    notices: list[str] = [_partly_used(*cut, parsed, task)] if cut else []
    notices += _less(parsed, task)
    try:
        return checked(parsed.reply, task), notices
    except BadReply:
        mend = None if reply.finish_reason == "content_filter" else task.kind.mend
        of_use = mend(task.inputs, parsed.reply) if mend else None
        if of_use is None:
            raise
    return of_use[0], [*notices, *filter(None, of_use[1:])]


def is_reusable(task: Task[Any], reply: ChatReply) -> bool:
    """Return whether other runs may reuse a reply: it is complete and passes the check of its task."""
    if reply.finish_reason not in ("stop", "tool_calls"):
        return False
    if isinstance(task.inputs, Talk):
        return True
    try:
        checked(read(reply, task).reply, task)
    except BadReply:
        return False
    return True
