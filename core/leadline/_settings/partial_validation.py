"""Validate as much of the settings as possible, and describe every error: the key, its place, the valid choices.

Invalid values are left out, so that the rest can be checked: otherwise users would learn of one typo at a time. No
message contains a secret.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from leadline._settings.layers import PREFIX, RENAMED, Layer, Stored, Unresolved, validated
from leadline._settings.redaction import secrets_in_address
from leadline._settings.schema import KeyPath, annotation_at, fields_of, is_secret, model_of, secret_texts, unwrapped
from leadline.display import choose_from, nearest
from leadline.errors import ConfigError
from leadline.hookspecs import NO_MODEL, PluginSettings
from leadline.settings import Settings

# The keys of a pipeline that name stages.
_STAGES = ("stages", "without", "replace", "before", "after")
# Characters of an invalid value that a message repeats.
_SHOWN = 60


def validate_partially(
    origins: Layer, plugins: Collection[str] = ()
) -> tuple[Settings, list[str], set[KeyPath], set[KeyPath]]:
    """Return the core's settings with defaults for invalid values, the messages, and the paths of those values.

    At last the paths of values of a run that this version does not know. `origins` has the strongest value at each
    path. Raises `ConfigError` if the settings are invalid with the defaults, too.
    """
    faults = {path: leaf.value.fault for path, leaf in origins.leaves.items() if isinstance(leaf.value, Unresolved)}
    # Those of sections are told when these are read.
    unresolved = [fault for path, fault in faults.items() if path[0] != "plugins"]
    given = origins.nested(without=faults)
    try:
        return validated(given), unresolved, {*faults}, set()
    except ValidationError as error:
        details = [(_path_of(detail, given), detail) for detail in error.errors()]
    # Values of a run of another version.
    extra = {path for path, detail in details if detail["type"] == "extra_forbidden"}
    unknown = {path for path in extra if isinstance(origins.origin(path), Stored)}
    details = [(path, detail) for path, detail in details if path not in unknown]
    messages = [*error_messages([detail for _, detail in details], Settings, given, origins, plugins=plugins)]
    messages = unresolved + messages
    invalid = {path for path, _ in details} | {*faults}
    try:
        return validated(origins.nested(without=invalid | unknown)), messages, invalid, unknown
    except ValidationError:
        pass
    # Outside of `except`: the validation error contains values of the files, and must not be chained.
    raise ConfigError("\n".join(messages))


# --- messages --------------------------------------------------------------------------------------------------------


def error_messages(
    details: Iterable[ErrorDetails],
    model: type[BaseModel],
    given: Any,
    origins: Layer,
    prefix: KeyPath = (),
    plugins: Collection[str] = (),
) -> Iterator[str]:
    """Yield one sentence for each of pydantic's errors about the values `given`, which are below `prefix`.

    `plugins` are names that are valid tables beside those of the model.
    """
    hidden = [text for text in secret_texts(model, given) if len(text) > 3]
    for detail in details:
        path = _path_of(detail, given)
        where = origins.origin((*prefix, *path))
        path += (str(detail["loc"][-1]),) if detail["type"] == "missing" else ()
        problem = _underscore_problem(where, path, model, plugins) or _problem(detail, model, path, plugins)
        sentence = f"{'.'.join((*prefix, *path)) or 'settings'}: {problem}"
        for text in hidden:
            sentence = sentence.replace(text, "***")
        yield f"{sentence} ({where})" if where else sentence


def _underscore_problem(where: str, path: KeyPath, model: type[BaseModel], plugins: Collection[str]) -> str:
    """Return a message for a variable with one underscore between table and key instead of two; else empty."""
    variable = where.rpartition(" ")[2]
    if len(path) != 1 or path[0] in model.model_fields or variable != f"{PREFIX}{path[0].upper()}":
        return ""
    keys = {"_".join(key): key for key, _ in fields_of(model)}
    meant = keys.get(nearest(path[0], keys), ())
    tables = [name for name in plugins if name not in model.model_fields and path[0].startswith(f"{name}_")]
    if tables:
        table = max(tables, key=len)
        meant = (table, path[0].removeprefix(f"{table}_"))
    if len(meant) < 2:
        return ""
    return f"unknown setting: did you mean {PREFIX}{'__'.join(meant).upper()}? Two underscores separate table and key"


def _path_of(detail: ErrorDetails, given: Any) -> KeyPath:
    """Return the path of a faulty value, or of the table that lacks one.

    The names that pydantic adds for the branches of unions are no part of it.
    """
    path: list[str] = []
    for step in detail["loc"]:
        is_item = isinstance(step, int) and isinstance(given, list | tuple) and step < len(given)
        if is_item or (isinstance(given, Mapping) and step in given):
            path.append(str(step))
            given = given[step]
    return tuple(path)


def _problem(detail: ErrorDetails, model: type[BaseModel], path: KeyPath, plugins: Collection[str]) -> str:
    annotation, given = annotation_at(model, path), detail["input"]
    table = model_of(annotation_at(model, path[:-1]))
    if detail["type"] == "extra_forbidden":
        return _unknown_key(path, table, plugins)
    if problem := _layout_problem(detail, path):
        return problem
    if detail["type"] in ("model_type", "model_attributes_type") and (section := model_of(annotation)):
        return f"this is a table, not a value: set its keys ({', '.join(section.model_fields)})"
    if detail["loc"][-1:] == ("[key]",):
        choices = get_args(get_args(unwrapped(annotation_at(model, path[:-1])))[0])
        return f"unknown setting: {choose_from(path[-1], choices)}"
    if detail["type"] == "missing":
        fields = table.model_fields.items() if table else ()
        required = [name for name, field in fields if field.is_required()] or [path[-1]]
        return f"there is no value, and no default: set {' and '.join(required)}"
    message = detail["msg"].removeprefix("Value error, ").partition(", unable to parse")[0]
    sentence = message[:1].lower() + message[1:]
    # The value is not repeated if it may be a secret.
    if annotation is None or is_secret(annotation) or secrets_in_address(given):
        return sentence
    if not isinstance(given, str | int | float):
        return sentence
    near = nearest(str(given), filter(lambda choice: isinstance(choice, str), get_args(unwrapped(annotation))))
    shown = repr(given) if len(repr(given)) <= _SHOWN else repr(given)[:_SHOWN] + "…"
    return f"{sentence}, got {shown}" + (f"; did you mean {near!r}?" if near else "")


def _layout_problem(detail: ErrorDetails, path: KeyPath) -> str:
    """Return what is wrong with the value of a pipeline's stages; empty for any other error."""
    if path[:1] != ("pipelines",) or len(path) < 3 or path[2] not in _STAGES:
        return ""
    shown = repr(detail["input"])[:_SHOWN]
    match path[3:], detail["type"]:
        case ([_, "loop", _], "string_type"):
            loop = isinstance(detail["input"], Mapping)
            return "a loop cannot contain a loop" if loop else f"a stage is the name of a plugin, not {shown}"
        case ([_, "loop"], "too_short"):
            return "a loop needs a stage"
        case ([_], "model_type" | "model_attributes_type") if path[2] == "stages":
            return f"a stage is the name of a plugin, or {{ loop = [NAME, …], at_most = N }}, not {shown}"
        case (_, "tuple_type" | "tuple"):
            return f"this is a list of stages, not {shown}"
        case (_, "dict_type"):
            return f"this is a table of stages, such as {{ write = [NAME, …] }}, not {shown}"
        case (_, "string_type"):
            return f"a stage is the name of a plugin, not {shown}"
    return ""


def _unknown_key(path: KeyPath, table: type[BaseModel] | None, plugins: Collection[str]) -> str:
    keys = table.model_fields if table else ()
    if path in RENAMED:
        return RENAMED[path]
    if table and table.__name__ == PluginSettings.__name__:  # or a second instance's, which inherits its name
        return f"unknown setting: {NO_MODEL}"
    if len(path) > 1 or not plugins:  # the tables of plugins are beside those of the core
        return f"unknown setting: {choose_from(path[-1], keys)}"
    near = nearest(path[0], {*keys, *plugins})
    meant = f"did you mean {near!r}{'' if near in keys else ', the table of a plugin'}? " if near else ""
    tables = f"choose from: {', '.join(sorted(keys))}; or the table of a plugin: see `leadline plugins`"
    return f"unknown setting: {meant}({tables})" if meant else f"unknown setting: {tables}"
