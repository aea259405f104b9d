"""Consent to values that would act with the user's rights, in settings that Leadline found by itself or stored.

A settings file and a `.env` in the working folder may be anybody's, as in an unpacked archive. What they set works
without a question, except the values that `uses_of` finds. Those of a plugin's section, or of a table of the core, are
trusted together, remembered by folder and digest: an edit of another key asks nothing. The settings of a stored run are
never a source of such values: they must be those of today, or nothing sets them and they have the seal of this machine.
"""

from __future__ import annotations

import ipaddress
import json
import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretBytes, SecretStr

from leadline._settings.layers import TRUST_VARIABLE, Found, Layer, Leaf, Stored, Unresolved, leaves
from leadline._settings.redaction import is_private_address, secrets_in_address
from leadline._settings.schema import KeyPath, is_secret, names_code, scalars, unwrapped
from leadline._settings.sources import EXTENDS, Sources, has_reference
from leadline.display import one_line, shortened
from leadline.errors import ConfigError, UntrustedSettings
from leadline.inventory import MASK
from leadline.settings import Settings
from leadline.templates import SUFFIX

FILE = "trusted.json"
ADDRESS, CODE, OUTSIDE = "an address", "a code file", "a path outside the folder"
_CODE = (".py", SUFFIX)
_SECRETS = (SecretStr, SecretBytes)
_SEPARATORS = re.compile(r"[\s,;/@?#=\\\"'<>|]+")
# A name with dots whose last part is letters, which a version (`gpt-4.1`) is not; and any name with a port.
_HOST = re.compile(r"(?:[\w-]+\.)+(?:[^\W\d_]{2,}|xn--[\w-]+)\.?|localhost\.?|[\w.-]+:[1-9]\d{0,4}", re.IGNORECASE)
# Characters of a text that may be a path, and of a value in a message.
_LONGEST_PATH, _SHOWN = 4096, 400


@dataclass(frozen=True)
class Use:
    """A value that would act with the user's rights, `what` it is, and its origin."""

    path: KeyPath
    what: str
    value: Any
    origin: str

    @property
    def section(self) -> str:
        """What is trusted as a whole: the section of a plugin, its file alone, or a table of the core."""
        if names_code(self.path, self.value) or has_reference(self.value):
            return ".".join(self.path)
        return ".".join(self.path[: 2 if self.path[0] == "plugins" else 1])

    def __str__(self) -> str:
        hidden = isinstance(self.value, _SECRETS) or any(map(secrets_in_address, _texts(self.value)))
        shown = MASK if hidden else json.dumps(self.value, ensure_ascii=False, default=str)
        return one_line(f"{self.origin} {'.'.join(self.path)} = {shortened(shown, _SHOWN)} ({self.what})")


def uses_of(model: BaseModel, folder: Path, origins: Layer, above: KeyPath = ()) -> Iterator[Use]:
    """Yield the values of a table that can act with the user's rights."""
    for name in type(model).model_fields:
        if isinstance(model, Settings) and name in ("pipelines", "plugins"):
            continue  # the settings of the chosen pipeline are a layer; sections are read with their models
        declared = getattr(model, "authority", {}).get(name, "")
        for path, value in leaves(getattr(model, name), (*above, name)):
            if isinstance(value, BaseModel):
                yield from uses_of(value, folder, origins, path)
            elif value and (what := declared or _kind(value, folder)):
                yield Use(path, what, value, origins.origin(path))


def references_of(origins: Layer, extended: Iterable[Leaf]) -> list[Use]:
    """Return what settings take from elsewhere: files that they extend, variables and other files."""
    written = [(path, it.reference, it.origin) for path, it in origins.leaves.items() if it.reference is not None]
    uses = [Use(path, "a variable or a file", value, origin) for path, value, origin in written]
    return [*(Use((EXTENDS,), "another settings file", it.value, it.origin) for it in extended), *uses]


def code_of(origins: Layer) -> list[Use]:
    """Return the files and the folder of plugins that the settings name: they must be trusted before they are read."""
    named = [(path, it) for path, it in origins.leaves.items() if names_code(path, it.value)]
    return [Use(path, CODE, it.value, it.origin) for path, it in named if not isinstance(it.value, Unresolved)]


def _kind(value: Any, folder: Path) -> str:
    texts = [*_texts(value)]
    if not isinstance(value, _SECRETS):
        if any(text.endswith(_CODE) for text in texts):
            return CODE
        if any(is_outside(text, folder) for text in texts):
            return OUTSIDE
    return ADDRESS if any(map(can_be_address, texts)) else ""


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value that are not empty."""
    for item in scalars(value):
        text = item.get_secret_value() if isinstance(item, SecretStr) else item
        if isinstance(text, str | Path) and str(text):
            yield str(text)


def is_outside(text: str, folder: Path) -> bool:
    """Return whether a text, or what it has after a colon, is a path that leads out of a folder, also by a link."""
    text = text.strip()
    if "\n" in text or "://" in text or len(text) > _LONGEST_PATH:
        return False
    for path in (text, text.partition(":")[2]):
        with suppress(OSError, RuntimeError, ValueError):  # no path: a loop of links, the home of nobody, a null byte
            if not (folder / Path(path).expanduser()).resolve().is_relative_to(folder.resolve()):
                return True
    return False


def can_be_address(text: str) -> bool:
    """Return whether a text may be an address: it has a scheme, a host name or an IP."""
    text = unicodedata.normalize("NFKC", text).replace("。", ".")  # as the encoding of host names does
    if ":/" in text or text.lstrip().startswith("//"):
        return True
    parts = _SEPARATORS.split(text)
    return any(_is_ip(part) or _HOST.fullmatch(part) for whole in parts for part in (whole, *whole.split(":")))


def _is_ip(text: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(text.lstrip("[").partition("]")[0])
        return True
    return False


Tables = Sequence[tuple[BaseModel, KeyPath]]


def tables_of(settings: Settings) -> Tables:
    """Return the core's table and the sections of the plugins, with their paths."""
    sections = dict(settings.plugins).items()
    return [(settings, ()), *((model, ("plugins", name)) for name, model in sections if isinstance(model, BaseModel))]


@dataclass(frozen=True)
class Review:
    """Finds the values that need consent among settings and their origins.

    `has_variable` returns whether a field of a plugin has a conventional variable. Where an empty secret has none, the
    SDK of the plugin may find one by itself. `reads` are paths of documents that no setting names.
    """

    sources: Sources
    origins: Layer
    has_variable: Callable[[str, str], bool] = lambda *_: True
    reads: Sequence[str] = ()

    def uses(self, tables: Tables, kind: type[str]) -> list[Use]:
        """Return the uses whose values have this kind of origin: `Found` or `Stored`."""
        if not any(isinstance(leaf.origin, kind) for leaf in self.origins.leaves.values()):
            return []
        return [use for use in self._every(tables) if isinstance(use.origin, kind)]

    def _every(self, tables: Tables) -> Iterator[Use]:
        for model, above in tables:
            yield from uses_of(model, self.sources.cwd, self.origins, above)

    def untrusted(self, tables: Tables) -> UntrustedSettings | None:
        """Return the error for found values that the user has not trusted; None if there are none."""
        early = [*code_of(self.origins), *references_of(self.origins, self.sources.extended)]
        beside = [*self._beside_code()]  # shown with the file, which is read only after the answer
        code = {use.path: use for use in (*beside, *early) if isinstance(use.origin, Found)}
        uses = [*code.values(), *(use for use in self.uses(tables, Found) if use.path not in code)]
        if self.sources.environ.get(TRUST_VARIABLE) == "1" or not uses:
            return None
        sections = {".".join(above): (model, above) for model, above in tables if above}
        outside = any(use.what == ADDRESS for use in uses) and self._reads_outside(tables)
        needed = {use.section for use in uses if use.what != ADDRESS or use in beside}
        for use in (use for use in uses if use.section in sections.keys() - needed):
            if outside or self._has_other_secret(*sections[use.section]):
                needed.add(use.section)
        digests = {section: _digest(use for use in uses if use.section == section) for section in needed}
        # In the working folder, those of environments too.
        known = _read(self.sources.user_path.parent / FILE).get(str(self.sources.cwd.resolve()), {})
        new = [use for use in uses if use.section in needed and digests[use.section] not in known.get(use.section, ())]
        return UntrustedSettings(map(str, new), digests) if new else None

    def is_trusted(self, model: BaseModel, above: KeyPath, *, sealed: bool) -> bool:
        """Return whether a section may be acted on before all settings are read: none of its values needs consent."""
        section = [(model, above)]
        return not self.untrusted(section) and (sealed or not self.uses(section, Stored))

    def _beside_code(self) -> Iterator[Use]:
        """Yield the values that need consent in the sections of plugins that are files."""
        files = [use for use in code_of(self.origins) if use.path[0] == "plugins"]
        named = [Path(use.value) for use in code_of(self.origins) if use not in files]
        sections = {use.path[:2] for use in files}
        folders = filter(os.path.isdir, named)  # `Path.glob` raises for a name that is too long
        sections |= {("plugins", file.stem) for folder in folders for file in folder.glob("*.py")}
        for path, leaf in self.origins.leaves.items():
            if path[:2] in sections and (what := _kind(leaf.value, self.sources.cwd)):
                yield Use(path, what, leaf.value, leaf.origin)

    def _has_other_secret(self, section: BaseModel, above: KeyPath) -> bool:
        """Return whether a plugin has a secret that was not found, or may read one by itself."""
        for path, value in leaves(section.model_dump(), above):
            secret = isinstance(value, _SECRETS) or any(map(secrets_in_address, _texts(value)))
            if secret and any(_texts(value)) and not isinstance(self.origins.origin(path), Found):
                return True
        fields = {key: field.annotation for key, field in type(section).model_fields.items()}
        secrets = [key for key in fields if unwrapped(fields[key]) in _SECRETS]
        secrets = secrets or [key for key in fields if is_secret(fields[key])]
        return any(not getattr(section, key) and not self.has_variable(above[-1], key) for key in secrets)

    def _reads_outside(self, tables: Tables) -> bool:
        """Return whether a path, whoever set it, leads out of the folder: documents there could be sent away."""
        values = (use.value for use in self._every(tables))
        paths = (path for value in values for path in (value if isinstance(value, list | tuple) else [value]))
        named = (str(path) for path in paths if isinstance(path, Path))
        return any(is_outside(path, self.sources.cwd) for path in (*self.reads, *named))

    def foreign(
        self, tables: Tables, today: Layer, drift: Mapping[KeyPath, Leaf], *, sealed: bool, offline: bool
    ) -> Iterator[str]:
        """Yield an error for each stored value that the settings of `today` do not have; `drift` has their values.

        Values that nobody sets now are accepted in `sealed` settings. A replay, `offline`, executes code files at most.
        """
        for model, above in tables:
            for use in self.uses([(model, above)], Stored):
                if (use.what == ADDRESS and not above) or (offline and (sealed or use.what != CODE)):
                    continue
                other = next((leaf for path, leaf in drift.items() if use.path[: len(path)] == path), None)
                default = type(model).model_fields[use.path[len(above)]].get_default(call_default_factory=True)
                known = sealed or use.value == default or use.path in today.leaves
                if other or not known:
                    now = "nothing sets it today"
                    if other:
                        hidden = other.value is None or is_private_address(other.value)
                        now = f"today's settings have {'another value' if hidden else other.value} ({other.origin})"
                    yield f"{use}: a run is no source of it, and {now}: to use it, add --set {'.'.join(use.path)}=…"


# --- what was trusted ------------------------------------------------------------------------------------------------


def _digest(uses: Iterable[Use]) -> str:
    values = sorted((".".join(use.path), json.dumps(use.value, default=_plain, sort_keys=True)) for use in uses)
    return sha256(json.dumps(values).encode()).hexdigest()


def _plain(value: Any) -> Any:
    return sorted(map(str, value)) if isinstance(value, set | frozenset) else next(_texts(value), "")


def trust(sources: Sources, digests: Mapping[str, str]) -> Path:
    """Remember sections of the working folder; return the file. Raises `ConfigError`."""
    path = sources.user_path.parent / FILE
    known, folder = _read(path), str(sources.cwd.resolve())
    sections = known.setdefault(folder, {})
    for section, digest in digests.items():
        sections[section] = sorted({*sections.get(section, ()), digest})
    temporary = path.with_name(f".{FILE}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump(known, file, indent=1)
        temporary.replace(path)
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror or error}") from error
    return path


def _read(path: Path) -> dict[str, Any]:
    """Return the digests of the sections that the user trusted, by folder and section."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}
