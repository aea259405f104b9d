"""Instances of the plugins that a set of settings chooses.

A `PluginRuntime` creates each chosen plugin at its first use and owns everything its runs share: sessions, threads,
HTTP clients. Rate limits belong to the client: several of its runtimes may use the same account.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from leadline._hosting.context import PluginContext
from leadline._hosting.faults import trace, words
from leadline._hosting.lifecycle import ENTER_SECONDS, PluginLifecycle, awaitable
from leadline._hosting.loading import AnyOffer, revision, root_of
from leadline._runtime.calls.job import ProviderIdentity
from leadline._runtime.calls.keys import fingerprint
from leadline._runtime.calls.limits import ClientLimits, Limiter
from leadline._runtime.calls.store import ReplyCache, account_of
from leadline._runtime.task_groups import contain
from leadline._settings.load import Loaded
from leadline._settings.pipelines import resolve
from leadline._settings.plugin_sections import plain, variable_of
from leadline._settings.redaction import answer_options, secrets_of
from leadline._settings.schema import is_secret
from leadline._settings.secrets import Secrets
from leadline.contracts import Call, Parser
from leadline.encoding import digest
from leadline.errors import ConfigError, LeadlineError, PluginError, PluginFault, ProviderError, Unsupported, UsageError
from leadline.files import home_folder
from leadline.hookspecs import AT_ONCE, PRINCIPAL
from leadline.parsing import whole
from leadline.permits import Permits
from leadline.pipeline import Pipeline, assemble
from leadline.records import Blob, Document
from leadline.settings import Limits, seconds

# Bytes of answers to keep across runs.
CACHE_SIZE = 200_000_000
# Seconds that a call may take if neither the offer nor the settings set a timeout, and of kinds with another: language
# models write for minutes, and the files of parsers may wait for a worker, in which their own limits count.
TIMEOUT, _LONG_TIMEOUTS = 30.0, {"ai_providers": 600.0, "parsers": 600.0}


@dataclass(frozen=True)
class ProviderInstance:
    """A chosen plugin as a provider of one kind: its offer, its identity, and the object itself."""

    name: str
    offer: AnyOffer
    identity: ProviderIdentity
    lifecycle: PluginLifecycle

    async def get(self) -> Any:
        """Return the provider; the first call creates and enters it."""
        return await self.lifecycle.get()

    async def open(self) -> Any:
        """Return the provider for use outside of a call. Raises `PluginError` if it cannot be entered."""
        try:
            return await self.get()
        except LeadlineError:
            raise
        except Exception as error:
            scrub = self.lifecycle.scrub
            failure = PluginError(f"{self.identity.who} could not be entered: {scrub(words(error))}")
            failure.traceback = trace(error, scrub)
            raise failure from error

    async def ask(self, method: str, argument: str) -> Any:
        """Return the reply of a method that makes no call. Raises `Held` for an error that is no `Exception`."""

        async def work() -> Any:
            return getattr(await self.get(), method)(argument)

        return await contain(work())

    def method(self, name: str) -> Callable[[Any, Call], Awaitable[Any]]:
        """Return a method for the call path: it also reaches a plugin that is entered again between two attempts."""

        async def do(request: Any, call: Call) -> Any:
            method = getattr(await self.get(), name, None)
            if method is None:
                raise PluginFault(f"{self.identity.who} has no method `{name}`: write `async def {name}(self, …)`")
            return await method(request, call)

        return do


class PluginRuntime:
    """The plugins that one set of settings chooses. Close it with `close()`; plugins are created at their first use."""

    def __init__(self, loaded: Loaded, cache_dir: Path | None = None, limits: ClientLimits | None = None) -> None:
        self.loaded = loaded
        self._limits = limits or ClientLimits()
        self.settings = loaded.settings
        self.chosen = loaded.chosen
        self._cache_dir = cache_dir or default_cache()
        self._contexts: dict[str, PluginContext] = {}
        self._lifecycles: dict[tuple[str, int], PluginLifecycle] = {}
        self._instances: dict[tuple[str, str], ProviderInstance] = {}
        self._parsers: list[Parser] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._answers: ReplyCache | None = None

    def pipeline(self, name: str = "") -> Pipeline:
        """Return a checked pipeline, by default that of the settings. Raises `ConfigError`."""
        name = name or self.settings.pipeline
        pipelines = self.settings.pipelines
        offers = {stage: self.loaded.offer("stages", stage) for stage in self.chosen["pipeline"]}
        return assemble(name, resolve(pipelines, name), offers, pipelines[name].level)  # type: ignore[arg-type]

    def instance(self, kind: str, name: str) -> ProviderInstance:
        """Return a chosen plugin as a provider of a kind. Raises `ConfigError` if it is not chosen."""
        if (kind, name) not in self._instances:
            self._instances[kind, name] = self._new_instance(kind, name)
        return self._instances[kind, name]

    def _new_instance(self, kind: str, name: str) -> ProviderInstance:
        section = self.loaded.section(kind, name)
        plugin = self.loaded.plugins.get(section)
        if plugin is None or kind not in plugin.offers:
            raise ConfigError(f"'{name}' is not chosen among the {kind.replace('_', ' ')} of the settings")
        offer, settings = plugin.offers[kind], self.settings.plugin(section)
        limits = next(filter(None, map(self.settings.limits.get, (name, section, plain(name)))), None)
        timeout = (limits and limits.timeout) or offer.limits.timeout
        by_search = not timeout and kind == "search_providers"
        usual = self.settings.search.timeout if by_search else _LONG_TIMEOUTS.get(kind, TIMEOUT)
        lifecycle = self._lifecycle(section, offer, settings, max(timeout or 0.0, ENTER_SECONDS))
        options = fingerprint(answer_options(offer, settings, self._tags(section)))
        account = account_of(secrets_of(settings.model_dump()))
        owner = (kind, name, str(plugin), options, account)
        identity = ProviderIdentity(
            name=name,
            fingerprint=options,
            limiter=self._limiter(owner, offer, limits),
            timeout=timeout or usual,
            timeout_setting="search.timeout" if by_search else f"limits.{name}.timeout",
            priced=offer.priced,
            local=offer.work == "local",
            account=account,
            revision=revision(plugin),
            per_user=PRINCIPAL in (offer.cache_key or ()),
            who=str(plugin),
            root=root_of(str(getattr(offer.make, "__module__", ""))),
            key_origin=self._key_origin(section, offer),
            restart=lifecycle.restart,
        )
        return ProviderInstance(name, offer, identity, lifecycle)

    def _tags(self, name: str) -> dict[str, str]:
        """Return the tags of the values in a plugin's section that a run does not store."""
        prefix = f"plugins.{name}."
        return {key.removeprefix(prefix): tag for key, tag in self.loaded.tags.items() if key.startswith(prefix)}

    def _limiter(self, owner: tuple[str, ...], offer: AnyOffer, limits: Limits | None) -> Limiter:
        at_once = (limits and limits.at_once) or offer.limits.at_once or AT_ONCE
        interval = (offer.limits if limits is None or limits.interval is None else limits).interval or 0.0
        kind, name, *_ = owner
        rests = kind == "search_providers"
        return self._limits.limiter(owner, at_once, interval, name=name, rests=rests, local=offer.work == "local")

    def _lifecycle(self, name: str, offer: AnyOffer, settings: Any, enter_seconds: float) -> PluginLifecycle:
        """Return the lifecycle of an offer; a class that serves two kinds has one instance."""
        key = (name, id(offer.make))
        if key not in self._lifecycles:
            plugin = self.loaded.plugins[name]
            kinds = [kind for kind, other in plugin.offers.items() if other.make is offer.make]
            ready = partial(awaitable, kinds=kinds, who=str(plugin))
            context = self.context(name)
            self._lifecycles[key] = PluginLifecycle(
                str(plugin),
                partial(offer.create, settings, context),
                ready,
                scrub=self._scrub,
                seconds=enter_seconds,
                warn=context.log.warning,
            )
        return self._lifecycles[key]

    @cached_property
    def _scrub(self) -> Callable[[str], str]:
        return Secrets(self.loaded.secrets, self.loaded.private).scrub

    def context(self, name: str) -> PluginContext:
        """Return the context of a plugin."""
        if name not in self._contexts:
            context = PluginContext(name, self._cache_dir, self, self.settings.runs.folder, scrub=self._scrub)
            context.caches = self.settings.cache.enabled
            self._contexts[name] = context
        return self._contexts[name]

    def _key_origin(self, name: str, offer: AnyOffer) -> str:
        """Return where the key of an instance comes from, and its variable; empty if the offer declares no key."""
        fields = offer.settings.model_fields
        keys = (key for key in offer.env if key in fields and is_secret(fields[key].annotation))
        if not (key := next(keys, "")):
            return ""
        dotted = f"plugins.{name}.{key}"
        variable = variable_of(self.loaded.plugins[name], name, key)
        origin = self.loaded.origins.get(dotted, "default")
        if origin == "default":
            return f"no key is set: set {f'{variable}, or ' if variable else ''}{dotted}"
        other = "" if not variable or variable in origin else f"; without it, {variable} is read"
        return f"the key comes from {origin}{other}"

    @property
    def answers(self) -> ReplyCache | None:
        """The cache across runs; None if the settings disable it."""
        cache = self.settings.cache
        times = (cache.search, cache.plan, cache.model, cache.answers)
        if self._answers is None and cache.enabled and any(map(seconds, times)):
            self._answers = ReplyCache(self._cache_dir / "answers.sqlite", CACHE_SIZE, self._cache_scope())
        return self._answers

    def _cache_scope(self) -> str:
        """Return a digest of the middleware: it may change replies, so other middleware shares no cache entry."""
        used = [self.instance("middleware", name).identity for name in self.chosen["middleware"]]
        parts = [(identity.name, identity.fingerprint, identity.revision) for identity in used]
        return digest(repr(parts).encode()) if parts else ""

    # --- parsing for plugins (`leadline.contracts.Context`) ---

    async def open(self) -> None:
        """Create the parsers, because `parses` cannot wait for them. Raises `UsageError` on another event loop."""
        loop = asyncio.get_running_loop()
        if self._loop not in (None, loop):
            raise UsageError("a client belongs to one event loop: create a Client for each asyncio.run()")
        self._loop = loop
        if not self._parsers:
            self._parsers = [await self.instance("parsers", name).open() for name in self.chosen["read.parsers"]]

    def parses(self, media_type: str) -> bool:
        """Return whether a configured parser accepts this media type."""
        return any(parser.accepts(media_type) for parser in self._parsers)

    async def parse(self, blob: Blob, call: Call) -> Document:
        """Parse bytes with the first parser that accepts them. Raises `Unsupported` if none does."""
        for name, parser in zip(self.chosen["read.parsers"], self._parsers, strict=True):
            if parser.accepts(blob.media_type):
                try:
                    return whole(await parser.parse(blob, call)).labelled(blob.labels)
                except ProviderError as error:
                    raise Unsupported(f"{error} (parser '{name}')") from error
                except Exception as error:
                    raise PluginFault(self.instance("parsers", name).identity.fault(error)) from error
        raise Unsupported(f"no parser of read.parsers reads {blob.media_type} ({blob.name})")

    async def close(self) -> None:
        """Exit every plugin and close every client. A plugin that does not exit delays this by 15 s at most."""
        await asyncio.gather(*(lifecycle.close() for lifecycle in self._lifecycles.values()))
        for context in self._contexts.values():
            await context.close()
        if self._answers is not None:
            await self._answers.close()
            self._answers = None


class RuntimePool:
    """Reference-counted runtimes of one client: runs with equal settings share one; the last to release closes it."""

    def __init__(self, cache_dir: Path | None = None, permits: Permits | None = None) -> None:
        self._cache_dir = cache_dir
        self.limits = ClientLimits(permits)
        self._users: dict[PluginRuntime, int] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def acquire(self, loaded: Loaded) -> PluginRuntime:
        """Return the runtime of these settings; the caller releases it."""
        shared = next((runtime for runtime in self._users if runtime.loaded.same(loaded)), None)
        runtime = shared or PluginRuntime(loaded, self._cache_dir, self.limits)
        self._users[runtime] = self._users.get(runtime, 0) + 1
        return runtime

    async def release(self, runtime: PluginRuntime) -> None:
        """Release a runtime and close it if nobody else uses it."""
        if runtime not in self._users:  # the pool is closed
            return
        self._users[runtime] -= 1
        if not self._users[runtime]:
            del self._users[runtime]
            await runtime.close()

    def release_soon(self, runtime: PluginRuntime) -> None:
        """Release a runtime in a task, for callers that cannot wait."""
        closing = asyncio.create_task(self.release(runtime), name="release plugins")
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Close all runtimes, used or not."""
        await asyncio.gather(*self._closing)
        users, self._users = self._users, {}
        for runtime in users:
            await runtime.close()


def default_cache() -> Path:
    """Return the cache folder: `$XDG_CACHE_HOME/leadline`, by default `~/.cache/leadline`."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base else home_folder() / ".cache") / "leadline"


def combined_fingerprint(instances: Sequence[ProviderInstance]) -> str:
    """Return the fingerprint of several providers that serve one call together."""
    return fingerprint({instance.name: instance.identity.fingerprint for instance in instances})
