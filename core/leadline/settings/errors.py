"""What is wrong with settings, in words: the dotted key, where it stands, what would be right; never a secret."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from leadline.nearest import choose_from, nearest
from leadline.settings.layers import PREFIX
from leadline.settings.secrecy import in_address
from leadline.settings.types import KeyPath, at, bare, is_secret, model_of, secret_texts

Origin = Callable[[KeyPath], str]
_SHOWN = 60
"""Characters of a wrong value that an error repeats."""


def problems(
    details: Iterable[ErrorDetails],
    model: type[BaseModel],
    given: Sequence[Any],
    origin: Origin,
    prefix: KeyPath = (),
) -> Iterator[str]:
    """Yield one sentence for each of pydantic's errors about what was `given`, layer by layer, below `prefix`."""
    hidden = [text for values in given for text in secret_texts(model, values) if len(text) > 3]
    for detail in details:
        path = path_of(detail, given)
        # What is missing stands nowhere: the section does that lacks it.
        place = origin((*prefix, *(path[:-1] if detail["type"] == "missing" else path)))
        wrong = _run_together(place, path, model) or _wrong(detail, model, path)
        sentence = f"{'.'.join((*prefix, *path)) or 'settings'}: {wrong}"
        for text in hidden:
            sentence = sentence.replace(text, "***")
        yield f"{sentence} ({place})" if place != "default" else sentence


def _run_together(place: str, path: KeyPath, model: type[BaseModel]) -> str:
    """Tell a variable that has one underscore where two part a section from its key; empty for all else."""
    variable = place.rpartition(" ")[2]
    if len(path) != 1 or path[0] in model.model_fields or variable != f"{PREFIX}{path[0].upper()}":
        return ""
    keys = {"_".join(key): key for key in _keys(model)}
    meant = keys.get(nearest(path[0], keys), ())
    if len(meant) < 2:
        return ""
    return (
        f"unknown setting: did you mean {PREFIX}{'__'.join(meant).upper()}? Two underscores part a section and its key"
    )


def _keys(model: type[BaseModel], above: KeyPath = ()) -> Iterator[KeyPath]:
    """Yield all keys of a model and of the sections in it."""
    for name, field in model.model_fields.items():
        yield (*above, name)
        if section := model_of(field.annotation):
            yield from _keys(section, (*above, name))


def path_of(detail: ErrorDetails, given: Sequence[Any]) -> KeyPath:
    """Return where the error stands, without what pydantic adds for the branches of unions."""
    path: list[str] = []
    for step in detail["loc"]:
        if below := [values[step] for values in given if _has(values, step)]:
            path.append(str(step))
            given = below
    if detail["type"] == "missing":
        path.append(str(detail["loc"][-1]))
    return tuple(path)


def _has(values: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return isinstance(values, list | tuple) and step < len(values)
    return isinstance(values, Mapping) and step in values


def _wrong(detail: ErrorDetails, model: type[BaseModel], path: KeyPath) -> str:
    annotation, given = at(model, path), detail["input"]
    if detail["type"] == "extra_forbidden":
        parent = model_of(at(model, path[:-1]))
        return f"unknown setting: {choose_from(path[-1], parent.model_fields if parent else ())}"
    if detail["type"] in ("model_type", "model_attributes_type") and (section := model_of(annotation)):
        return f"is a section, not a value: give its keys ({', '.join(section.model_fields)})"
    if detail["loc"][-1] == "[key]":
        return f"unknown setting: {choose_from(path[-1], get_args(get_args(bare(at(model, path[:-1])))[0]))}"
    if detail["type"] == "missing":
        section = model_of(at(model, path[:-1]))
        needed = (
            [name for name, field in section.model_fields.items() if field.is_required()] if section else [path[-1]]
        )
        return f"is not set, and has no default: give {' and '.join(needed)}"
    message = detail["msg"].removeprefix("Value error, ").partition(", unable to parse")[0]
    sentence = message[:1].lower() + message[1:]
    if annotation is None or is_secret(annotation) or in_address(given) or not isinstance(given, str | int | float):
        return sentence
    near = nearest(str(given), filter(lambda choice: isinstance(choice, str), get_args(bare(annotation))))
    shown = repr(given) if len(repr(given)) <= _SHOWN else repr(given)[:_SHOWN] + "…"
    return f"{sentence}, got {shown}" + (f"; did you mean {near!r}?" if near else "")
