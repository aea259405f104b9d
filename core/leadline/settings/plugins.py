"""The plugins' sections of the settings: read by the model of each plugin, and only for those that are chosen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

from pydantic import Field, ValidationError, create_model

from leadline.errors import ConfigError
from leadline.hookspecs import PluginSettings
from leadline.hosting.host import Host, Plugin
from leadline.hosting.loading import NAME
from leadline.nearest import choose_from
from leadline.settings.errors import problems
from leadline.settings.layers import PREFIX, Layer, leaves, origin_of
from leadline.settings.types import KeyPath, read_text

USE = "use"
"""The key that makes a section a second instance of another plugin."""


class Unset(ConfigError):
    """A required setting is empty: the plugin cannot work, and nothing is wrong with it."""


class Misset(ConfigError):
    """Something in a plugin's section is wrong."""


class Sections:
    """All plugin sections as they are written, and the conventional variables that fill what they leave out."""

    def __init__(
        self, values: Any, layers: list[Layer], variables: Sequence[tuple[str, Mapping[str, str | None]]], file: str
    ) -> None:
        self._malformed = not isinstance(values, Mapping)
        self._values = {} if self._malformed else values
        self._layers = layers
        self._variables = variables
        self._file = file

    def base(self, name: str) -> str:
        """Return the plugin behind a name."""
        section = self._values.get(name)
        return str(section.get(USE, name)) if isinstance(section, Mapping) else name

    def instances(self) -> tuple[str, ...]:
        """Return the names of the second instances."""
        return tuple(name for name in self._values if self.base(name) != name)

    def has(self, name: str, field: str) -> bool:
        """Return whether a section sets a field to something."""
        section = self._values.get(name)
        return isinstance(section, Mapping) and bool(section.get(field))

    def hinted(self, name: str) -> bool:
        """Return whether anything speaks of a plugin: a section, or a variable that begins with its name."""
        prefix = f"{name.upper()}_"
        return bool(self._values.get(name)) or any(
            key.startswith(prefix) and value for _, variables in self._variables for key, value in variables.items()
        )

    def texts(self, name: str) -> Iterator[str]:
        """Yield the texts in a section and in the variables of its name: which are secret, only its model knows."""
        yield from (str(value) for _, value in leaves({name: self._values.get(name, "")}))
        prefix = f"{self.base(name).upper()}_"
        for _, variables in self._variables:
            yield from (value for key, value in variables.items() if key.startswith(prefix) and value)

    def place(self, key: str) -> str:
        """Return where a key stands, in brackets; empty for a default."""
        origin = origin_of(self._layers, tuple(key.split(".")))
        return f" ({origin})" if origin != "default" else ""

    def misnamed(self, host: Host, limits: Iterable[str]) -> Iterator[str]:
        """Yield what is wrong with the names of sections, those of `[limits]` too."""
        if self._malformed:
            yield f"plugins: is a section, not a value: [plugins.NAME] for each plugin{self.place('plugins')}"
        known = {*host.names(), *self.instances()}
        for name in self._values:
            if name not in known and name not in host.refused:
                yield self._unknown("plugins", name, known)
        for name in self.instances():
            base = self.base(name)
            if base not in host.names():
                yield self._unknown(f"plugins.{name}.{USE}", base, host.names())
            elif name in host.names():
                yield f"plugins.{name}.{USE}: {name!r} is an installed plugin: name the second instance differently"
            elif not NAME.fullmatch(name):
                yield f"plugins.{name}: a name has lower-case letters, digits and _ only, a letter first"
        for name in limits:
            if name not in known:
                yield self._unknown("limits", name, known)

    def _unknown(self, key: str, name: str, known: Iterable[str]) -> str:
        place = self.place(key if key.endswith(USE) else f"{key}.{name}")
        return f"{key}: no plugin {name!r} is installed: {choose_from(name, known)}{place}"

    def read(self, name: str, plugin: Plugin) -> PluginSettings:
        """Return a plugin's settings. Raises `Unset` where a required one is empty, `Misset` for a wrong one."""
        prefix, model = ("plugins", name), self._model(name, plugin)
        given = self._values.get(name, {})
        if isinstance(given, Mapping):
            given = {**self._conventional(name, plugin, given), **given}
        given = read_text(given, model, prefix, self._refuse)
        told: list[str] = []
        try:
            settings = model.model_validate(given)
            unset = [key for key, field in model.model_fields.items() if field.is_required() and _empty(settings, key)]
        except ValidationError as error:
            details = error.errors()
            unset = [".".join(map(str, detail["loc"])) for detail in details if detail["type"] == "missing"]
            wrong = [detail for detail in details if detail["type"] != "missing"]
            told = [*problems(wrong, model, [given], self._origin, prefix)]
        except Exception as error:  # noqa: BLE001 - told, without its text, which may repeat a secret
            told = [f"plugins.{name}: {plugin} raised {type(error).__name__} as it read its section"]
        # Outside of `except`: the validation error holds the values, secrets among them, and must not be chained.
        if told:
            raise Misset("\n".join(told))
        if unset:
            raise Unset(self._how_to_set(name, unset[0], plugin))
        return settings

    def _model(self, name: str, plugin: Plugin) -> type[PluginSettings]:
        """Return the model of a section; a second instance's says which plugin it uses, and so a stored run does."""
        section = self._values.get(name)
        if not isinstance(section, Mapping) or USE not in section:
            return plugin.settings
        about = Field(plugin.name, description="The plugin that this is a second instance of.")
        return create_model(plugin.settings.__name__, __base__=plugin.settings, use=(str, about))

    def _origin(self, path: KeyPath) -> str:
        return origin_of(self._layers, path)

    def _refuse(self, path: KeyPath, why: str) -> ConfigError:
        return Misset(f"{'.'.join(path)}: {why} ({self._origin(path)})")

    def _conventional(self, name: str, plugin: Plugin, given: Mapping[str, Any]) -> dict[str, str]:
        """Return what the conventional variables say of fields that no source sets; the origins are noted.

        A second instance takes none: the key of one service is not for another.
        """
        if self.base(name) != name or name != plugin.name:
            return {}
        found, noted = {}, Layer()
        for key, variable in _conventions(plugin).items():
            for label, variables in self._variables:
                if key not in given and key not in found and (value := variables.get(variable)):
                    found[key] = value
                    noted.put(("plugins", name, key), value, f"{label} {variable}")
        if found:
            self._layers.append(noted)
        return found

    def _how_to_set(self, name: str, key: str, plugin: Plugin) -> str:
        dotted = f"plugins.{name}.{key}"
        variable = _conventions(plugin).get(key) if name == plugin.name else None
        variable = variable or f"{PREFIX}{dotted.upper().replace('.', '__')}"
        return f"{dotted} is not set: set {variable}, or {dotted} in {self._file}"


def _conventions(plugin: Plugin) -> dict[str, str]:
    return {key: variable for offer in plugin.offers.values() for key, variable in offer.env.items()}


def _empty(settings: PluginSettings, key: str) -> bool:
    value = getattr(settings, key)
    return isinstance(value, Sized) and len(value) == 0
