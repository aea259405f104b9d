"""The plugins' sections of the settings; each chosen plugin's model reads its own."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any

from pydantic import Field, SecretStr, ValidationError, create_model

from leadline._hosting.catalog import Plugin, PluginCatalog
from leadline._hosting.loading import NAME, AnyOffer
from leadline._settings.layers import PREFIX, Layer, Leaf, Shipped, Stored, Unresolved, leaves
from leadline._settings.partial_validation import error_messages
from leadline._settings.redaction import public
from leadline._settings.schema import USE, KeyPath, is_secret, names_code, read_text, unquoted
from leadline._settings.sources import secret_in
from leadline.display import nearest
from leadline.errors import ConfigError
from leadline.hookspecs import PluginSettings
from leadline.inventory import MASK


class RequiredSettingMissing(ConfigError):
    """A required setting is empty: the plugin cannot work, but nothing is wrong with it."""

    def __init__(self, key: str, variable: str, file: str) -> None:
        super().__init__(f"{key} is not set: set {f'{variable}, or ' if variable else ''}{key} in {file}")
        self.key, self.variable = key, variable


class InvalidSection(ConfigError):
    """A plugin's section is invalid."""


class PluginSections:
    """All sections as they are written, and the conventional variables that fill empty fields."""

    def __init__(
        self,
        values: Any,
        origins: Layer,
        variables: Sequence[tuple[str, Mapping[str, str | None]]],
        file: str,
        invalid: Collection[KeyPath] = (),
    ) -> None:
        """`invalid` are the paths of invalid and unresolved values, and of plugins' files that were not read."""
        self.invalid = invalid
        # The paths of values of a run that this version does not know.
        self.outdated: set[KeyPath] = set()
        self._malformed = not isinstance(values, Mapping)
        self._values = {} if self._malformed else values
        self._origins = origins
        self._variables = variables
        self._file = file
        # All conventional variables that are set, also where another source is stronger.
        self.conventional = Layer()

    def base(self, name: str) -> str:
        """Return the plugin of a name: another one for a second instance."""
        section = self._values.get(name)
        base = section.get(USE, name) if isinstance(section, Mapping) else name
        return name if names_code(("plugins", name, USE), base) else unquoted(base)

    def has_file(self, name: str) -> bool:
        """Return whether a section names the file of its plugin."""
        section = self._values.get(name)
        return isinstance(section, Mapping) and USE in section and self.base(name) == name

    def instances(self) -> tuple[str, ...]:
        """Return the names of the second instances."""
        return tuple(name for name in self._values if self.base(name) != name)

    def names(self) -> tuple[str, ...]:
        """Return the names of all sections."""
        return tuple(self._values)

    def is_set(self, name: str) -> bool:
        """Return whether a section has any value."""
        return bool(self._values.get(name))

    def is_mentioned(self, name: str) -> bool:
        """Return whether a plugin has a section, or a variable that begins with its name."""
        return (self.is_set(name) and self.base(name) == name) or any(self._variables_of(name))

    def _variables_of(self, name: str) -> Iterator[str]:
        for _, variables in self._variables:
            prefix = f"{plain(name).upper()}_"
            yield from (value for key, value in variables.items() if key.startswith(prefix) and value)

    def texts(self, name: str) -> Iterator[str]:
        """Yield all texts of a section and of the variables of its plugin: without its model, any may be secret."""
        yield from (str(value) for path, value in leaves({name: self._values.get(name, "")}) if path[1:] != (USE,))
        yield from self._variables_of(self.base(name))

    def is_users(self, key: str) -> bool:
        """Return whether a user set a key, not Leadline's defaults or a stored run."""
        origin = self._origins.origin(tuple(key.split(".")))
        return bool(origin) and not isinstance(origin, Shipped | Stored)

    def is_stored(self, key: str) -> bool:
        """Return whether a key was stored with a run."""
        return isinstance(self._origins.origin(tuple(key.split("."))), Stored)

    def own(self, name: str) -> list[str]:
        """Return the keys of a section that Leadline's defaults do not set."""
        section = self._values.get(name)
        origins = {key: self._origins.origin(("plugins", name, key)) for key in section or ()}
        return [key for key, origin in origins.items() if origin and not isinstance(origin, Shipped)]

    def place(self, key: str) -> str:
        """Return the origin of a key in brackets; empty for a default."""
        origin = self._origins.origin(tuple(key.split(".")))
        return f" ({origin})" if origin else ""

    def is_invalid(self, key: str) -> bool:
        """Return whether a key, a table above it or a key below it had an invalid value."""
        path = tuple(key.split("."))
        return any(path[: len(other)] == other[: len(path)] for other in self.invalid)

    def is_unread(self, name: str) -> bool:
        """Return whether it is unknown what a name stands for: its file or the folder of plugins was not read."""
        return self.is_invalid(f"plugins.{name}.{USE}") or self.is_invalid("plugin_folder")

    def _unresolved(self, prefix: KeyPath) -> list[str]:
        """Return the faults of the references below a path, or at it."""
        values = (self._origins.value(path) for path in self.invalid if path[: len(prefix)] == prefix)
        return sorted(value.fault for value in values if isinstance(value, Unresolved))

    def naming_problems(self, catalog: PluginCatalog, limits: Iterable[str]) -> Iterator[str]:
        """Yield the problems with the names of sections, and of the tables of `[limits]`."""
        if self._malformed:
            yield f"plugins: this is a table, not a value: write [plugins.NAME] for each plugin{self.place('plugins')}"
        known = {*catalog.names(), *self.instances()}
        for name in self._values:
            yield from self._unresolved(("plugins", name, USE))
            if name in known or catalog.has(name) or self.is_unread(name):
                continue
            if isinstance(self._origins.origin(("plugins", name)), Stored):
                self.outdated.add(("plugins", name))
            elif name not in catalog.refused:
                yield self._unknown("plugins", name, known, self._instance_hint(name, catalog))
        for name in self.instances():
            base = self.base(name)
            if not catalog.has(base):
                yield self._unknown(f"plugins.{name}.{USE}", base, catalog.names())
            elif not NAME.fullmatch(name):
                yield f"plugins.{name}: a name has lower-case letters, digits and _ only, a letter first"
        for name in limits:
            if name not in known and not catalog.has(name) and not self.is_unread(name):
                yield self._unknown("limits", name, known)

    def _unknown(self, key: str, name: str, known: Iterable[str], hint: str = "") -> str:
        place = self.place(key if key.endswith(USE) else f"{key}.{name}")
        near = nearest(name, known)
        if near and hint:
            hint = f"{hint[0].upper()}{hint[1:]}"
        advice = " ".join(filter(None, (f"did you mean {near!r}?" if near else "", hint))) or "see `leadline plugins`"
        return f"{key}: no plugin {name!r} is installed: {advice}{place}"

    def _instance_hint(self, name: str, catalog: PluginCatalog) -> str:
        """Return how to make a section a second instance of a plugin that has its keys; else empty."""
        section = self._values[name]
        if not isinstance(section, Mapping) or not section:
            return ""
        fitting = [plugin.name for plugin in catalog.loadable() if {*section} <= {*plugin.settings.model_fields}]
        choices = " or ".join(f'{USE} = "{base}"' for base in fitting[:3]) if len(fitting) <= 3 else f'{USE} = "PLUGIN"'
        return f"for a second instance of a plugin, add {choices} to [plugins.{name}]" if choices else ""

    def read(
        self, name: str, plugin: Plugin, *, shipped: bool = True, otherwise: Mapping[str, str] | None = None
    ) -> PluginSettings:
        """Return a plugin's settings, with what Leadline's defaults set in this section if `shipped`.

        `otherwise` has values of fields that no source sets. Raises `RequiredSettingMissing`, or `InvalidSection`.
        """
        prefix, model = ("plugins", name), self._model(name, plugin)
        given = self._values.get(name, {})
        if isinstance(given, Mapping):
            if not shipped:
                given = {key: given[key] for key in self.own(name)}
            given = {**(otherwise or {}), **self._conventional(name, plugin, given), **given}
        given = read_text(given, model, prefix, self._refuse)
        given = self._with_files(given, model, prefix)
        messages = self._unresolved(prefix)
        unknown = {key for key in given if key not in model.model_fields} if isinstance(given, Mapping) else set()
        old = {key for key in unknown if isinstance(self._origins.origin((*prefix, key)), Stored)}
        self.outdated |= {(*prefix, key) for key in old}
        given = {key: value for key, value in given.items() if key not in old} if old else given
        try:
            settings = model.model_validate(given)
            public(settings)  # raises for values that a run cannot store as JSON
            missing = [
                key for key, field in model.model_fields.items() if field.is_required() and _empty(settings, key)
            ]
        except ValidationError as error:
            details = error.errors()
            missing = [".".join(map(str, detail["loc"])) for detail in details if detail["type"] == "missing"]
            invalid = [detail for detail in details if detail["type"] != "missing"]
            messages += error_messages(invalid, model, given, self._origins, prefix)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - reported without its text, which may contain a secret
            messages = [f"plugins.{name}: {plugin} raised {type(error).__name__} while it read its section"]
        # Outside of `except`: the validation error contains the values, secrets included, and must not be chained.
        if messages:
            raise InvalidSection("\n".join(messages))
        if missing:
            raise RequiredSettingMissing(
                f"plugins.{name}.{missing[0]}", variable_of(plugin, name, missing[0]), self._file
            )
        return settings

    def refuse_unsendable(self, name: str, offer: AnyOffer, settings: PluginSettings) -> None:
        """Raise `InvalidSection` for a key that no header can carry, such as one pasted with quotation marks."""
        for field in offer.env:
            value = getattr(settings, field, None)
            text = value.get_secret_value().strip() if isinstance(value, SecretStr) else ""
            if bad := next((char for char in text if not (char.isascii() and char.isprintable())), ""):
                path, char = ("plugins", name, field), unicodedata.name(bad, f"U+{ord(bad):04X}")
                why = f"the value has a character that no header can carry: {char}: paste the key again"
                raise self._refuse(path, why)

    def _with_files(self, given: Any, model: type[PluginSettings], prefix: KeyPath) -> Any:
        """Return values with the secrets in files that variables name: …__API_KEY_FILE for the field `api_key`."""
        if not isinstance(given, Mapping):
            return given
        found = {}
        for key, value in given.items():
            name, origin = key.removesuffix("_file"), self._origins.origin((*prefix, key))
            field = model.model_fields.get(name) if key not in model.model_fields else None
            # Not of `.env`, which may be anybody's.
            if field and is_secret(field.annotation) and origin.startswith("environment "):
                found[name] = secret_in(unquoted(value), origin)
                self._origins.set_leaf((*prefix, name), Leaf(MASK, origin))
            else:
                found[key] = value
        return found

    def _model(self, name: str, plugin: Plugin) -> type[PluginSettings]:
        """Return the model of a section; that of a second instance stores the plugin it uses."""
        section = self._values.get(name)
        if not isinstance(section, Mapping) or USE not in section:
            return plugin.settings
        use = Field(plugin.name, description="The plugin of this second instance.")
        return create_model(plugin.settings.__name__, __base__=plugin.settings, use=(str, use))

    def _refuse(self, path: KeyPath, why: str) -> ConfigError:
        return InvalidSection(f"{'.'.join(path)}: {why} ({self._origins.origin(path)})")

    def _conventional(self, name: str, plugin: Plugin, given: Mapping[str, Any]) -> dict[str, str]:
        """Return the values of conventional variables for fields that no source sets, and note their origins.

        A second instance has none: the key of one service is not for another.
        """
        if self.base(name) != name or plain(name) != plugin.name:
            return {}
        found = {}
        for key, variable in _conventions(plugin).items():
            secret = is_secret(plugin.settings.model_fields[key].annotation)
            given_by = ((label, value) for label, variables in self._variables if (value := variables.get(variable)))
            file = self._variables[0][1].get(f"{variable}_FILE") if secret else None
            if file and not self._variables[0][1].get(variable):
                label, variable = self._variables[0][0], f"{variable}_FILE"
                given_by = ((label, secret_in(each, variable)) for each in [file])
            for label, value in islice(given_by, 1):
                path, leaf = ("plugins", name, key), Leaf(value, type(label)(f"{label} {variable}"))
                self.conventional.set_leaf(path, leaf)
                if key not in given:
                    found[key] = value
                    self._origins.set_leaf(path, leaf)
        return found


def plain(name: str) -> str:
    """Return the NAME of NAME@DISTRIBUTION."""
    return name.partition("@")[0]


def has_variable(plugin: Plugin | None, key: str) -> bool:
    """Return whether a field of a plugin has a conventional variable."""
    return plugin is not None and key in _conventions(plugin)


def variable_of(plugin: Plugin, name: str, key: str) -> str:
    """Return the variable of a field; a second instance does not read the conventional one.

    It is empty for a field of NAME@DISTRIBUTION without a conventional one: no variable has an @ in its name.
    """
    variable = _conventions(plugin).get(key) if plain(name) == plugin.name else None
    return variable or ("" if "@" in name else f"{PREFIX}PLUGINS__{name}__{key}".upper())


def _conventions(plugin: Plugin) -> dict[str, str]:
    return {key: variable for offer in plugin.offers.values() for key, variable in offer.env.items()}


def _empty(settings: PluginSettings, key: str) -> bool:
    value = getattr(settings, key)
    value = value.get_secret_value().strip() if isinstance(value, SecretStr) else value
    return isinstance(value, Sized) and len(value) == 0
