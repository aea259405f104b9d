"""Load one plugin in isolation, from its entry point to its offers, so that errors name it.

A plugin without offers, the usual mistake in a first plugin, is an error.
"""

from __future__ import annotations

import inspect
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, fields
from functools import cache
from hashlib import blake2b
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distribution, version
from pathlib import Path
from traceback import walk_tb
from typing import Any, get_type_hints

import pluggy
from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from leadline._hosting.faults import trace, words
from leadline.display import choose_from
from leadline.errors import PluginError
from leadline.hookspecs import (
    ALL,
    GROUP,
    KINDS,
    PRINCIPAL,
    Hooks,
    Offer,
    PluginSettings,
    hookimpl,
    map_stage,
    offers_of,
)

# A plugin's name must fit into an environment variable; a dash does not.
NAME = re.compile(r"[a-z][a-z0-9_]*")
AnyOffer = Offer[Any]
# One thread at a time redirects standard output; a plugin that is loaded may load others.
_redirecting = threading.RLock()
_BUG = "; this is a bug in the plugin"
_FILE_REQUIRES = re.compile(r"""^requires_leadline\s*=\s*["']([^"']+)""", re.MULTILINE)
_REQUIRED = re.compile(r"leadline\b[^;]*>=\s*([\d.]+)")


@dataclass(frozen=True)
class Plugin:
    """A loaded plugin: its distribution, its settings model, its offers by kind."""

    name: str
    distribution: str
    version: str
    settings: type[PluginSettings]
    offers: Mapping[str, AnyOffer]
    # That of a plugin of one file.
    file: Path | None = None

    def __str__(self) -> str:
        return named(self.name, self.distribution, self.version)


def named(name: str, distribution: str, version: str) -> str:
    """Return the name of a plugin for errors."""
    return f"plugin {name!r} ({distribution} {version})" if distribution else f"plugin {name!r}"


def origin(point: EntryPoint) -> tuple[str, str]:
    """Return distribution and version of an entry point; empty if it has none."""
    return _about(point.dist)[:2] if point.dist else ("", "")


@cache
def _about(distribution: Distribution) -> tuple[str, str, str]:
    """Return name, version, and the lowest version of Leadline that a distribution requires."""
    # Cached: each access parses the whole metadata, 1 ms.
    try:
        required = next(filter(None, map(_REQUIRED.match, distribution.requires or ())), None)
        return distribution.name or "", distribution.version or "", required[1] if required else ""
    except Exception:  # noqa: BLE001 - the metadata may be missing or damaged; the plugin works without it
        return "", "", ""


def _refuse_newer(who: str, least: str) -> None:
    """Raise `PluginError` if a plugin requires a later version of Leadline."""
    if not least:
        return
    here = version("leadline")
    needed, installed = ([int(part) for part in re.findall(r"\d+", text)] for text in (least, here))
    if needed > installed:
        raise PluginError(f"{who} is made for Leadline {least} or later, and this is {here}: update Leadline")


class Unpackaged:
    """What the entry point of a plugin without a package has as its distribution; `path` is that of a file."""

    def __init__(self, name: str, version: str, path: Path | None = None) -> None:
        self.name, self.version, self.path = name, version, path
        self.requires: list[str] = []

    def point(self, name: str, value: str) -> EntryPoint:
        """Return the entry point of a plugin under a name."""
        point = EntryPoint(name, value, GROUP)
        vars(point)["dist"] = self
        return point


def file_of(point: EntryPoint) -> Path | None:
    """Return the file of a plugin of one file."""
    source: Any = point.dist
    return source.path if isinstance(source, Unpackaged) else None


def file_point(name: str, path: Path) -> EntryPoint:
    """Return the entry point of a plugin of one file, which may name the version of Leadline that it needs.

    `requires_leadline = ">=0.1"` is read without an import.
    """
    from leadline.workers import module_of

    origin = Unpackaged(path.name, f"in {path.parent}", path)
    try:
        module, text = module_of(path), path.read_text("utf-8", "replace")
    except OSError:
        return origin.point(name, "missing")  # loading the plugin says why
    if match := _FILE_REQUIRES.search(text):
        origin.requires = [f"leadline{match[1]}"]
    return origin.point(name, module)


@contextmanager
def printing_to_stderr() -> Iterator[None]:
    """Send what a plugin prints while it is loaded to standard error: the output of a command stays as it is."""
    with _redirecting, redirect_stdout(sys.stderr):
        yield


@contextmanager
def naming_the_plugin(before: str, after: str | Callable[[BaseException], str] = "") -> Iterator[None]:
    """Raise any error of a plugin as a `PluginError` with its traceback, and its words between two texts."""
    try:
        yield
    except (PluginError, KeyboardInterrupt):
        raise
    except BaseException as error:
        failure = PluginError(f"{before}{words(error)}{after if isinstance(after, str) else after(error)}")
        failure.traceback = trace(error, str)
        raise failure from error


def load_plugin(point: EntryPoint) -> Plugin:
    """Import a plugin, call its hooks and check its offers. Raises `PluginError`, whatever the plugin does."""
    who = named(point.name, *origin(point))
    with naming_the_plugin(f"{who} cannot be loaded: ", _BUG), printing_to_stderr():
        return _loaded(point, who)


def _loaded(point: EntryPoint, who: str) -> Plugin:
    value, file = point.value, file_of(point)
    remedy = f"update or uninstall {origin(point)[0] or 'it'}"
    if file:
        value, remedy = file.name, "correct it"
        if not os.path.isfile(file):  # noqa: PTH113 - the name may be too long
            raise PluginError(f"{who} cannot be loaded: there is no such file")

    def advice(error: BaseException) -> str:
        is_other = _is_of_other_version(error)
        made = f"; it may be made for another version of Leadline than {version('leadline')}" if is_other else ""
        frames = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == str(file)]
        line = f" (line {frames[-1]})" if frames else ""
        return f"{line}{made}; {remedy}, or take it out of the settings"

    _refuse_newer(who, _about(point.dist)[2] if point.dist else "")
    with naming_the_plugin(f"{who} cannot be imported: {value} raised ", advice):
        target = point.load()
    offers: dict[str, AnyOffer] = {}
    for registered in _registered(_decorated(target)):
        for kind, offer in registered.items():
            if kind in offers:
                raise PluginError(
                    f"{who} has two {kind.replace('_', ' ')}, {offers[kind].make.__qualname__} and "
                    f"{offer.make.__qualname__}: give each an entry point of its own, such as "
                    f"{point.module}:{offer.make.__qualname__}"
                )
            offers[kind] = _checked(offer, who)
    if not offers:
        decorators = ", ".join(each.__name__ for each in (*KINDS.values(), map_stage))
        raise PluginError(
            f"{who} offers nothing: {value} has no class with a decorator of leadline.plugin, such as "
            f'@search_provider("what it is"); the decorators are: {decorators}'
        )
    offers = {kind: offers[kind] for kind in KINDS if kind in offers}
    return Plugin(point.name, *origin(point), _settings(offers, who), offers, file)


def _is_of_other_version(error: BaseException) -> bool:
    """Return whether a plugin imports or passes what this version of Leadline does not have."""
    if isinstance(error, ImportError):
        return (error.name or "").partition(".")[0] == "leadline"
    decorators: list[type[AnyOffer]] = [Offer, *KINDS.values(), map_stage]
    names = {each.__name__ for each in decorators}
    return isinstance(error, TypeError) and str(error).partition(".__init__() got an unexpected keyword")[0] in names


def _decorated(target: object) -> list[object]:
    """Return the decorated classes and functions of a module, without those that it imports from elsewhere."""
    if not inspect.ismodule(target):
        return [target]
    members = {id(member): member for member in (getattr(target, name) for name in dir(target))}
    return [it for it in members.values() if f"{getattr(it, '__module__', '')}.".startswith(f"{target.__name__}.")]


class _Registered:
    """A class or function as pluggy registers it."""

    def __init__(self, decorated: object) -> None:
        self._decorated = decorated

    def __dir__(self) -> list[str]:
        return ["leadline_offers"]  # pluggy inspects each name, which would take 1 ms

    @hookimpl
    def leadline_offers(self) -> Mapping[str, AnyOffer]:
        return offers_of(self._decorated)


def _registered(decorated: Iterable[object]) -> list[Mapping[str, AnyOffer]]:
    """Return the offers of classes and functions, from a manager of their own."""
    manager = pluggy.PluginManager("leadline")
    manager.add_hookspecs(Hooks)
    for item in decorated:
        manager.register(_Registered(item))
    offers: list[Mapping[str, AnyOffer]] = manager.hook.leadline_offers()
    return offers


def _checked(offer: AnyOffer, who: str) -> AnyOffer:
    decorator: Any = type(offer)
    declaration = _declaration(decorator)
    try:
        declaration(**{name: getattr(offer, name) for name in declaration.model_fields})
    except ValidationError as error:
        detail = error.errors()[0]
        path = ".".join(map(str, detail["loc"]))
        message = detail["msg"].removeprefix("Value error, ")
        raise PluginError(
            f"{who} has a wrong argument in @{type(offer).__name__}: `{path}`: {message[:1].lower()}{message[1:]}, "
            f"and is {detail['input']!r:.80}"
        ) from None
    return offer


@cache
def _declaration(decorator: Any) -> type[BaseModel]:
    """Return a model of the arguments of a decorator, from their annotations."""
    hints = get_type_hints(decorator, include_extras=True) | {"settings": Any}  # `_settings` checks that one
    declared: dict[str, Any] = {field.name: (hints[field.name], ...) for field in fields(decorator)}
    return create_model(
        decorator.__name__, __config__=ConfigDict(strict=True, arbitrary_types_allowed=True), **declared
    )


def _settings(offers: Mapping[str, AnyOffer], who: str) -> type[PluginSettings]:
    """Return the settings model that all offers share."""
    models = {kind: offer.settings for kind, offer in offers.items()}
    for model in models.values():
        if not (isinstance(model, type) and issubclass(model, PluginSettings)):
            raise PluginError(f"{who} has settings {model!r}: they must be a subclass of PluginSettings")
    model, *others = dict.fromkeys(models.values())
    if others:
        names = ", ".join(f"{other.__module__}.{other.__qualname__} for {kind}" for kind, other in models.items())
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
        for name in {*offer.env, *(offer.cache_key or ()), *model.authority} - {*model.model_fields, ALL, PRINCIPAL}:
            raise PluginError(
                f"{who} names a settings field {name!r} that does not exist: {choose_from(name, model.model_fields)}"
            )
    return model


# --- the version of a plugin's code, which keys of replies for other runs contain ------------------------------------


def revision(plugin: Plugin) -> str:
    """Return the version of a plugin's distribution; a digest of its files if these change without a new version."""
    if plugin.distribution and not _is_from_a_folder(plugin.distribution):
        return f"{plugin.distribution} {plugin.version}"
    return " ".join(sorted({_digest(root_of(offer.make.__module__)) for offer in plugin.offers.values()}))


@cache
def _is_from_a_folder(name: str) -> bool:
    """Return whether a distribution was installed from a folder or an address (PEP 610), and not from an index."""
    try:
        return distribution(name).read_text("direct_url.json") is not None
    except PackageNotFoundError:
        return True


def root_of(module: str) -> Path | None:
    """Return the folder of the top package of a module, or the file of a module alone."""
    parts = module.split(".")
    for depth in range(1, len(parts) + 1):  # a namespace package has no file
        if file := getattr(sys.modules.get(".".join(parts[:depth])), "__file__", None):
            return Path(file).parent if Path(file).stem == "__init__" else Path(file)
    return None


@cache
def _digest(root: Path | None) -> str:
    """Return a digest of a file, or of all files of a package; computed once, as modules are imported once."""
    content = blake2b(digest_size=16)
    for path in sorted(root.rglob("*") if root and root.is_dir() else filter(None, [root])):
        if path.is_file() and path.suffix != ".pyc":
            content.update(f"{path}\0{path.stat().st_size}\0".encode() + path.read_bytes())
    return content.hexdigest()
