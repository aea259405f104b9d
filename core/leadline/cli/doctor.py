"""`leadline doctor`: check installation and settings, and suggest the next command."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shlex
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import httpx

from leadline import __version__
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime import task_groups
from leadline._runtime.calls.job import Kind
from leadline._runtime.plugins import PluginRuntime, ProviderInstance, default_cache
from leadline._runtime.runs.adhoc import adhoc_run
from leadline._runtime.runs.retrieval import as_page, fetchers_in_order
from leadline._runtime.runs.run import Run
from leadline._settings.load import Loaded
from leadline.client import Client
from leadline.commands import client_of, near
from leadline.commands.output import say, table, write, write_json
from leadline.contracts import Call
from leadline.display import shortened
from leadline.errors import ConfigError, LeadlineError
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.records.base import Record

# Bytes of free disk space below which a run may fail.
LOW = 100 * 1024 * 1024
_MARKS = {"ok": "ok", "note": "note", "bad": "BAD"}
_NOUNS = {"search.engines": "engine", "read.fetchers": "fetcher"}


@dataclass(frozen=True)
class Finding:
    """One check with its result and the next step; `bad` prevents research."""

    what: str
    state: Literal["ok", "note", "bad"]
    detail: str
    next: str = ""


def run(args: argparse.Namespace) -> int:
    """Print the findings; 0 if research can run."""
    found = list(_server(args.server) if args.server else _examine(client_of(args), quiet=args.json))
    docs = shlex.join(f"--docs={folder}" for folder in args.docs) or "--docs FOLDER"
    ready = all(item.state != "bad" for item in found)
    if args.json:
        write_json({"ready": ready, "findings": [asdict(item) for item in found]})
    else:
        write(table((_MARKS[item.state], item.what, item.detail) for item in found))
    if not args.json and not args.server:
        _advise(found, ready, f'leadline research "How does …?" {docs}')
    return 0 if ready else ConfigError.exit_code


def _advise(found: list[Finding], ready: bool, research: str) -> None:
    steps = list(dict.fromkeys(item.next or research for item in found if item.state == "bad" or item.next))
    write("\nReady for research." if ready else "\nNot ready for research yet.")
    write("Next:\n" + "\n".join(f"  {step}" for step in steps or [research]))


def _examine(client: Client, *, quiet: bool) -> Iterator[Finding]:
    yield Finding("leadline", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    try:
        loaded = client.load(complete=False)
    except ConfigError as error:
        yield from _plugins(client.catalog)
        yield Finding("settings", "bad", str(error), "leadline config check")
        return
    yield from _plugins(loaded.catalog)
    yield from _settings(loaded)
    if not loaded.problems:
        if not quiet:
            say("Trying each search engine and fetcher with one request …")
        yield from _trials(loaded)
    yield _folder("runs folder", loaded.settings.runs.folder.absolute(), "leadline doctor --folder DIR")
    yield _folder("cache folder", default_cache(), "export XDG_CACHE_HOME=DIR")


def _server(url: str) -> Iterator[Finding]:
    """Ask a running server: does it answer by this name, does it take runs, which version is it, what may the token."""
    token = os.environ.get("LEADLINE_TOKEN", "")
    with httpx.Client(timeout=10) as http:

        def ask(path: str, **headers: str) -> tuple[int, dict[str, Any]]:
            reply = http.get(url.rstrip("/") + path, headers=headers)
            data = reply.json() if reply.headers.get("content-type", "").startswith("application/json") else {}
            return reply.status_code, data

        try:
            health, (ready, state) = ask("/healthz"), ask("/readyz")
            version = str(ask("/openapi.json")[1].get("info", {}).get("version", "?"))
            allowed, who = ask("/v1/session", **({"Authorization": f"Bearer {token}"} if token else {}))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            yield Finding("server", "bad", f"{url} does not answer: {error}; start it: leadline serve")
            return
    if health != (200, {"status": "ok"}):
        reason = health[1].get("message", "is it Leadline's address?")
        yield Finding("server", "bad", f"{url} answers with HTTP {health[0]}: {reason}")
        return
    same = version == __version__
    yield Finding("server", "ok" if same else "note", f"version {version}{'' if same else f', here {__version__}'}")
    yield Finding("runs", "ok", "are taken") if ready == 200 else Finding("runs", "bad", str(state.get("message")))
    if allowed == 200:
        yield Finding("access", "ok", f"as {who['principal']}" if who["principal"] else "without a token: one user")
    else:
        missing = Finding("access", "note", "needs a token: set LEADLINE_TOKEN to check yours")
        yield Finding("access", "bad", f"LEADLINE_TOKEN: {who.get('message')}") if token else missing


def _plugins(catalog: PluginCatalog) -> Iterator[Finding]:
    """Report plugins that are broken, and those of one file."""
    for entry in catalog.entries(load=True):
        if entry.status == "broken":
            yield Finding(f"plugin {entry.name}", "note", entry.problem)
        elif entry.distribution.endswith(".py"):
            yield Finding(f"plugin {entry.name}", "ok", f"{entry.distribution} {entry.version}")


def _settings(loaded: Loaded) -> Iterator[Finding]:
    """Report selected plugins, plugins that were left out, and errors in the settings."""
    for key, names in loaded.chosen.items():
        if names and key != "pipeline":
            yield Finding(key, "ok", ", ".join(names))
    yield from (Finding(f"plugin {name}", "note", reason) for name, reason in loaded.dropped.items())
    yield from (Finding("settings", "note", notice) for notice in loaded.notices)
    if loaded.untrusted:
        yield Finding("settings", "bad", str(loaded.untrusted), "leadline trust")
    yield from (
        Finding("settings", "bad", problem.replace("\n  ", "; "), _remedy(problem, loaded.unset))
        for problem in loaded.problems
        if problem != str(loaded.untrusted)
    )
    if not loaded.problems:
        yield _pipeline(loaded)


def _remedy(problem: str, unset: frozenset[str]) -> str:
    """Return the next command; empty if only a folder of documents is missing."""
    if problem.startswith("search.engines") and "--docs DIR" in problem:
        return ""
    variable = next((name for name in sorted(unset) if name in problem), "")
    return f"export {variable}=…" if variable else "leadline config check"


def _pipeline(loaded: Loaded) -> Finding:
    name = loaded.settings.pipeline
    try:
        pipeline = PluginRuntime(loaded).pipeline()
    except ConfigError as error:
        return Finding(f"pipeline {name}", "bad", str(error).replace("\n", "; "), "leadline config check")
    stages = sum(1 for _ in pipeline.steps())
    return Finding(f"pipeline {name}", "ok", f"{stages} stages, inputs and outputs match")


def _trials(loaded: Loaded) -> Iterator[Finding]:
    """Try each chosen engine and fetcher; research needs one engine that works, and a fetcher for what it finds."""
    try:
        trials, notices = task_groups.run_loop(try_out(loaded))
    except ConfigError as error:
        yield Finding("trial", "bad", str(error), "leadline config check")
        return
    yield from (Finding("documents", "note", notice) for notice in notices)
    searches = [trial.fault for trial in trials if trial.key == "search.engines"]
    dead = bool(searches) and all(searches)
    for trial in trials:
        what = f"{_NOUNS[trial.key]} {trial.name}".rstrip()
        if not trial.fault:
            yield Finding(what, "ok", trial.detail)
        elif trial.key == "search.engines" and dead:
            yield Finding(what, "bad", trial.fault, f"leadline plugins show {trial.name}")
        else:
            yield Finding(
                what,
                "note" if trial.name else "bad",
                trial.fault,
                "" if trial.name else "leadline plugins list --kind fetchers",
            )


def _folder(what: str, path: Path, remedy: str) -> Finding:
    """Check that a folder, or its nearest existing parent, is writable and has free space."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        return Finding(what, "bad", f"{near(path)} cannot be written: {error.strerror or error}", remedy)
    state: Literal["ok", "note"] = "ok" if free > LOW else "note"
    return Finding(what, state, f"{near(path)}, {free / 1024**3:,.1f} GB free")


# --- the trial: one harmless request to each chosen engine and fetcher ------------------------------------------------


R = TypeVar("R", bound=Record)
# Common words of several languages; the next is asked for if one has no hit.
QUERIES = ("time", "year", "name", "number", "use", "Jahr", "année", "año", "年")


@dataclass(frozen=True)
class Trial:
    """The result of one request to a plugin, `name`, that the setting `key` chooses; `fault` is empty if it worked."""

    key: str
    name: str
    detail: str = ""
    fault: str = ""


async def try_out(loaded: Loaded) -> tuple[list[Trial], tuple[str, ...]]:
    """Return the trials of all chosen engines and fetchers, and what they tell. Raises `ConfigError` as a run does."""
    async with adhoc_run(loaded, "Do the search engines and fetchers work?") as run:
        searches = await asyncio.gather(*(_search(run, name) for name in loaded.chosen["search.engines"]))
        hits = [hit for _, hit in searches if hit and hit.text is None]
        fetches = await _fetches(run, loaded.chosen["read.fetchers"], hits)
        return [*(trial for trial, _ in searches), *fetches], run.notices


async def _search(run: Run, name: str) -> tuple[Trial, Hit | None]:
    key, engine = "search.engines", run.plugins.instance("search_providers", name)

    async def do(request: SearchRequest, call: Call) -> Any:
        return as_page(await engine.method("search")(request, call))

    try:
        for query in QUERIES:
            page = await _request(run, engine, "search", SearchPage, SearchRequest(query=query, limit=1), do)
            for hit in page.hits[:1]:
                found = hit.model_copy(update={"engine": name})
                return Trial(key, name, f"answers; its first hit is {shortened(hit.url, 100)}"), found
    except LeadlineError as error:
        return Trial(key, name, fault=str(error)), None
    return Trial(key, name, f"answers, without a hit for {', '.join(QUERIES)}"), None


async def _fetches(run: Run, names: Iterable[str], hits: Iterable[Hit]) -> list[Trial]:
    """Fetch the first hit that each fetcher accepts; report hits that no fetcher accepts, and fetchers not tried."""
    key = "read.fetchers"
    trials: dict[str, Trial] = {}
    fetchers, others = {name: run.plugins.instance("fetchers", name) for name in names}, dict[str, str]()
    for hit in hits:
        url, order = hit.content_url or hit.url, fetchers_in_order(fetchers, hit.engine)
        try:
            accepting = [name for name in order if (await fetchers[name].get()).accepts(url)]
        except Exception as error:  # noqa: BLE001 - any error of a plugin that is created or asked is its fault
            trials.setdefault(url, Trial(key, "", fault=shortened(f"{type(error).__name__}: {error}")))
            continue
        before = "not tried: {} accepts what was found, and is asked first; read.fetchers has the order"
        others |= {name: before.format(accepting[0]) for name in accepting[1:]}
        if not accepting:
            chosen = ", ".join(fetchers) or "none is chosen"
            fault = f"no fetcher ({chosen}) reads {shortened(url, 100)}, a hit of {hit.engine}"
            trials.setdefault(url, Trial(key, "", fault=fault))
        elif accepting[0] not in trials:
            trials[accepting[0]] = await _fetch(run, fetchers[accepting[0]], url)
    untried = [name for name in fetchers if name not in trials]
    nothing = "not tried: no engine found an address for it"
    return [*trials.values(), *(Trial(key, name, others.get(name, nothing)) for name in untried)]


async def _fetch(run: Run, fetcher: ProviderInstance, url: str) -> Trial:
    try:
        blob = await _request(run, fetcher, "fetch", Blob, FetchRequest(url=url))
    except LeadlineError as error:
        return Trial("read.fetchers", fetcher.name, fault=str(error))
    return Trial("read.fetchers", fetcher.name, f"reads {shortened(url, 100)}: {len(blob.data):,} bytes")


async def _request(
    run: Run,
    instance: ProviderInstance,
    name: str,
    reply: type[R],
    request: Record,
    do: Callable[[Any, Call], Awaitable[Any]] | None = None,
) -> R:
    """Make one request as a run would, within the same time, but without repeating it."""
    kind = Kind(name=name, reply=reply, keep=False, single_attempt=True)
    return await run.calls.call(kind, request, do or instance.method(name), provider=instance.identity, task="doctor")
