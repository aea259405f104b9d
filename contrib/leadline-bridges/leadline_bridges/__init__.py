"""Objects of other frameworks as plugins: the settings, the object that they name, its documents and its errors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from json import JSONDecodeError
from pathlib import Path
from traceback import extract_tb
from typing import Any, Literal, Self

from pydantic import JsonValue

from leadline.plugin import Context, Field, Hit, PluginSettings, ProviderError, Unavailable
from leadline_plugins.canonical import canonical
from leadline_plugins.search.results import hit
from leadline_plugins.service_errors import Refusal, find_refusal

# The usual names in the metadata of a document; the first that has a value counts.
NAMES = {"url": ("url", "link", "source", "file_path"), "title": ("title", "file_name", "name"), "published": ("date",)}
# Classes of the HTTP clients and SDKs that several frameworks use.
_CONNECTION = {"TransportError", "APIConnectionError"}


class BridgeSettings(PluginSettings):
    """Which object is bridged, and how the metadata of its documents are read."""

    authority = {"make": "code", "arguments": "arguments of code"}

    make: str = Field(description='the object, or a function or class that makes it: "package.module:name"')
    arguments: dict[str, JsonValue] = Field({}, description="arguments of the function or class")
    fields: dict[Literal["url", "title", "published"], str] = Field(
        {}, description='names in the metadata of a document: { url = "wiki_page" }'
    )


def ready(settings: BridgeSettings) -> str | None:
    """Return why the object cannot be made, as far as this is known without an import."""
    top = settings.make.partition(".")[0].partition(":")[0]
    if not (top and settings.make.partition(":")[2]):
        return f"make = {settings.make!r}: write package.module:name"
    return None if find_spec(top) else f"make: no module {top!r} is installed; PYTHONPATH can name its folder"


class Bridge:
    """An object of another framework, which its module keeps: it is not closed."""

    model: type[BridgeSettings] = BridgeSettings
    target: Any

    def __init__(self, settings: BridgeSettings, context: Context | None = None) -> None:
        self.settings, self.name = settings, settings.make
        self.in_thread = context.in_thread if context else asyncio.to_thread

    @classmethod
    def of(cls, target: Any, **settings: Any) -> Self:
        """Bridge an object of the program, for `Client(engines={"kb": Retriever.of(retriever)})`."""
        bridge = cls(cls.model(make=type(target).__name__, **settings))
        bridge.target = target
        return bridge

    async def __aenter__(self) -> Self:
        if not hasattr(self, "target"):
            self.target = await self.in_thread(self._make)  # frameworks take seconds to import
        return self

    async def __aexit__(self, *_: object) -> None: ...

    def _make(self) -> Any:
        module, _, name = self.name.partition(":")
        arguments = self.settings.arguments
        with faults(self.name):
            item: Any = reduce(getattr, name.split("."), import_module(module))
            return item(**arguments) if arguments or inspect.isroutine(item) or inspect.isclass(item) else item

    def hits(self, documents: Iterable[tuple[str, Mapping[str, Any]]], limit: int) -> list[Hit]:
        """Return texts with their metadata as hits, best first; texts of one web page are one hit."""
        hits: dict[str, Hit] = {}
        for text, data in documents:
            about = {key: self._value(data, key) for key in NAMES}
            if not about["url"].startswith(("https://", "http://")):  # several texts of a file are read
                about["url"] = f"{about['url'] or self.name}#{sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}"
            about["title"] = about["title"] or text.strip().partition("\n")[0][:80]
            page = hits.setdefault(key := canonical(about["url"]), hit(**about, text=text))
            if page.text != text:
                hits[key] = page.model_copy(update={"text": f"{page.text}\n\n{text}"})
        return list(hits.values())[:limit]

    def _value(self, data: Mapping[str, Any], key: str) -> str:
        names = (self.settings.fields[key],) if key in self.settings.fields else NAMES[key]
        return next((str(data[name]) for name in names if data.get(name)), "")


# The arguments of all decorators. Replies depend on code that no key names: runs without a user reuse none of others.
BRIDGED: Mapping[str, Any] = {"settings": BridgeSettings, "ready": ready, "cache_key": ("*", "run.principal")}


@contextmanager
def faults(name: str) -> Iterator[None]:
    """Raise the errors of an object as those of a provider, by the HTTP status in them or in their causes."""
    try:
        yield
    except Exception as error:
        if (fault := _fault(error, name)) is error:
            raise
        raise fault from error


def _fault(error: Exception, name: str) -> Exception:
    causes: list[BaseException] = [error]
    for cause in causes:
        answer = getattr(cause, "response", None)
        if isinstance(cause, ProviderError):
            return cause
        if status := _status(cause, answer):
            headers = {str(key).lower(): str(value) for key, value in (getattr(answer, "headers", None) or {}).items()}
            body = getattr(cause, "body", None)
            refusal = find_refusal(body, status, headers) or Refusal(status, str(cause), headers=headers)
            return refusal.error(name, key="the key that it uses", address="the address that it uses")
        if isinstance(cause, OSError | JSONDecodeError):  # which the core knows
            return cause
        if _CONNECTION & {kind.__name__ for kind in type(cause).__mro__}:
            return Unavailable(f"{name}: {type(cause).__name__}: {cause}")
        if (earlier := cause.__cause__ or cause.__context__) and earlier not in causes:
            causes.append(earlier)
    line = extract_tb(error.__traceback__)[-1]
    return ProviderError(f"{name}: {type(error).__name__}: {error} ({Path(line.filename).name}:{line.lineno})")


def _status(error: BaseException, answer: Any) -> int:
    """Return the HTTP status where SDKs have it; 0 if there is none."""
    numbers = [getattr(error, name, 0) for name in ("status_code", "status", "code")]
    numbers.append(getattr(answer, "status_code", 0))
    if isinstance(answer, Mapping):  # botocore
        numbers.append(answer.get("ResponseMetadata", {}).get("HTTPStatusCode"))
    return next((number for number in numbers if isinstance(number, int) and 400 <= number < 600), 0)
