"""Load one plugin in isolation, from its entry point to its offers, so that errors name it.

pluggy finds the hooks and checks their signatures. It ignores a hook that is not marked and a plugin without offers,
which are the usual mistakes in a first plugin; both are errors here.
"""

from __future__ import annotations

import inspect
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib.metadata import Distribution, EntryPoint
from typing import Any, get_type_hints

import pluggy
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from leadline._hosting.faults import trace, words
from leadline.display import choose_from
from leadline.errors import PluginError
from leadline.hookspecs import KINDS, CommandHooks, Hooks, MapOffer, Offer, PluginSettings, StageOffer

# A plugin's name must fit into an environment variable; a dash does not.
NAME = re.compile(r"[a-z][a-z0-9_]*")
AnyOffer = Offer[Any, Any]
_PREFIX = "leadline_"
# One thread at a time redirects standard output; a plugin that is loaded may load others.
_redirecting = threading.RLock()
_BUG = "; this is a bug in the plugin"
_HOOKS = tuple(_PREFIX + kind for kind in KINDS)


@dataclass(frozen=True)
class Plugin:
    """A loaded plugin: its distribution, its settings model, its offers by kind."""

    name: str
    distribution: str
    version: str
    settings: type[PluginSettings]
    offers: Mapping[str, AnyOffer]

    def __str__(self) -> str:
        return named(self.name, self.distribution, self.version)


def named(name: str, distribution: str, version: str) -> str:
    """Return the name of a plugin for errors."""
    return f"plugin {name!r} ({distribution} {version})" if distribution else f"plugin {name!r}"


def origin(point: EntryPoint) -> tuple[str, str]:
    """Return distribution and version of an entry point; empty if it has none."""
    return _about(point.dist) if point.dist else ("", "")


@cache
def _about(distribution: Distribution) -> tuple[str, str]:
    # Cached: each access parses the whole metadata, 1 ms.
    try:
        return distribution.name or "", distribution.version or ""
    except Exception:  # noqa: BLE001 - the metadata may be missing or damaged; the plugin works without it
        return "", ""


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what a plugin prints while it is loaded to standard error: the output of a command stays as it is."""
    with _redirecting, redirect_stdout(sys.stderr):
        yield


@contextmanager
def naming_the_plugin(before: str, after: str = "") -> Iterator[None]:
    """Raise any error of a plugin as a `PluginError` with its traceback, and its words between two texts."""
    try:
        yield
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:
        failure = PluginError(f"{before}{words(error)}{after}")
        failure.traceback = trace(error, str)
        raise failure from error


def load_plugin(point: EntryPoint) -> Plugin:
    """Import a plugin, call its hooks and check its offers. Raises `PluginError`, whatever the plugin does."""
    who = named(point.name, *origin(point))
    with naming_the_plugin(f"{who} cannot be loaded: ", _BUG), printing_to_stderr():
        return _loaded(point, who)


def _loaded(point: EntryPoint, who: str) -> Plugin:
    advice = f"; update or uninstall {origin(point)[0] or 'it'}, or take it out of the settings"
    with naming_the_plugin(f"{who} cannot be imported: {point.value} raised ", advice):
        module = point.load()
    _check_hooks(module, who)
    hooks = _registered(module, who)
    offers = {kind: offer for kind in KINDS for offer in _offers(hooks, kind, who)}
    if not offers:
        raise PluginError(
            f"{who} offers nothing: {point.value} has no function marked @hookimpl that yields an Offer; "
            f"the hooks are: {', '.join(_HOOKS)}"
        )
    return Plugin(point.name, *origin(point), _settings(offers, who), offers)


def _check_hooks(module: object, who: str) -> None:
    """Refuse hooks that pluggy would ignore."""
    for name in dir(module):
        if not name.startswith(_PREFIX) or not callable(hook := getattr(module, name)):
            continue
        if name not in (*_HOOKS, "leadline_commands") and not _marked(hook).get("specname"):
            raise PluginError(f"{who} has an unknown hook {name}: {choose_from(name, _HOOKS)}")
        if not _marked(hook):
            raise PluginError(f"{who} has a hook {name} that is not marked: write @hookimpl above it")


def _marked(hook: object) -> Mapping[str, Any]:
    """Return the options of `@hookimpl`; empty if the function is not marked."""
    return getattr(hook, "leadline_impl", {})


def _registered(module: object, who: str) -> pluggy.HookRelay:
    """Return the hooks of the module, registered with a manager of its own."""
    manager = pluggy.PluginManager("leadline")
    manager.add_hookspecs(Hooks)
    manager.add_hookspecs(CommandHooks)  # of a module that brings a command as well
    try:
        manager.register(module)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(f"{who} has a hook that does not fit: {error}") from error
    return manager.hook


def _offers(hooks: pluggy.HookRelay, kind: str, who: str) -> Iterator[AnyOffer]:
    """Yield the offer of a kind, if there is one."""
    hook = _PREFIX + kind
    with naming_the_plugin(f"{who} raised in {hook}: ", _BUG):
        answers = [_listed(answer, hook, who) for answer in getattr(hooks, hook)()]
    offers = [_checked(offer, hook, who) for answer in answers for offer in answer]
    if len(offers) > 1:
        raise PluginError(
            f"{who} yields {len(offers)} offers from {hook}: a plugin offers one of a kind; "
            "give each an entry point of its own"
        )
    yield from offers


def _listed(answer: object, hook: str, who: str) -> list[object]:
    if inspect.iscoroutine(answer):
        answer.close()
    if isinstance(answer, Iterable) and not isinstance(answer, str | Mapping):
        return list(answer)
    raise PluginError(f"{who} returns {type(answer).__name__} from {hook}: it must yield offers, and not be async")


def _checked(offer: object, hook: str, who: str) -> AnyOffer:
    allowed = (StageOffer, MapOffer) if hook == "leadline_stages" else (Offer,)
    if not isinstance(offer, allowed):
        want = " or ".join(kind.__name__ for kind in allowed)
        raise PluginError(f"{who} yields {type(offer).__name__} from {hook}: it must be {want}")
    try:
        for declaration in filter(None, map(_declaration, type(offer).__mro__)):
            declaration(**{name: getattr(offer, name) for name in declaration.model_fields})
    except ValidationError as error:
        detail = error.errors()[0]
        place = ".".join(map(str, detail["loc"]))
        message = detail["msg"].removeprefix("Value error, ")
        raise PluginError(
            f"{who} yields an offer from {hook} with a wrong field: `{place}`: {message[:1].lower()}{message[1:]}, "
            f"and is {detail['input']!r:.80}"
        ) from None
    return offer


@cache
def _declaration(kind: Any) -> type[BaseModel] | None:
    """Return a model of the fields that a class of offers adds, from their annotations; None if it adds none."""
    if not issubclass(kind, Offer):
        return None
    hints = get_type_hints(kind, include_extras=True) | {"settings": Any}  # `_settings` checks that one
    declared: dict[str, Any] = {name: (hints[name], ...) for name in vars(kind).get("__annotations__", ())}
    return create_model(kind.__name__, __config__=ConfigDict(strict=True, arbitrary_types_allowed=True), **declared)


def _settings(offers: Mapping[str, AnyOffer], who: str) -> type[PluginSettings]:
    """Return the settings model that all offers share."""
    models = {kind: offer.settings for kind, offer in offers.items()}
    for model in models.values():
        if not (isinstance(model, type) and issubclass(model, PluginSettings)):
            raise PluginError(f"{who} has settings {model!r}: they must be a subclass of PluginSettings")
    model, *others = dict.fromkeys(models.values())
    if others:
        names = ", ".join(f"{one.__module__}.{one.__qualname__} for {kind}" for kind, one in models.items())
        raise PluginError(f"{who} has {len(others) + 1} settings models: its offers share one, and it has {names}")
    if not model.__pydantic_complete__ and not model.model_rebuild(raise_errors=False):
        raise PluginError(
            f"{who} has settings {model.__name__} whose annotations are not defined at run time: "
            "import them outside of TYPE_CHECKING"
        )
    if not isinstance(model.authority, Mapping):
        raise PluginError(f"{who} has settings {model.__name__} whose `authority` is no table of texts")
    for name, field in model.model_fields.items():
        if field.description is not None and not isinstance(field.description, str):
            raise PluginError(
                f"{who} has settings {model.__name__} whose field `{name}` has a description that is no text"
            )
    if "use" in model.model_fields:
        raise PluginError(f"{who} has a settings field `use`: that name is reserved for second instances")
    for offer in offers.values():
        for name in {*offer.env, *(offer.answers or ()), *model.authority} - set(model.model_fields):
            raise PluginError(
                f"{who} names a settings field {name!r} that does not exist: {choose_from(name, model.model_fields)}"
            )
    return model
