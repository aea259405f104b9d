"""`leadline doctor`: check installation and settings, and suggest the next command."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import shlex
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
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
from leadline.contracts import Call, Check
from leadline.display import shortened
from leadline.errors import ConfigError, LeadlineError
from leadline.records import Blob, FetchRequest, Hit, SearchPage, SearchRequest
from leadline.records.base import Record
from leadline.settings import Runs
from leadline.stores import close_store, open_store

# Bytes of free disk space below which a run may fail.
LOW = 100 * 1024 * 1024
_MARKS = {"ok": "ok", "note": "note", "bad": "BAD"}


def run(args: argparse.Namespace) -> int:
    """Print the findings; 0 if research can run."""
    findings = list(_server(args.server) if args.server else _examine(client_of(args), quiet=args.json))
    docs = shlex.join(f"--docs={folder}" for folder in args.docs) or "--docs FOLDER"
    ready = all(item.state != "bad" for item in findings)
    if args.json:
        write_json({"ready": ready, "findings": [asdict(item) for item in findings]})
    else:
        write(table((_MARKS[item.state], item.what, item.detail) for item in findings))
    if not args.json and not args.server:
        _advise(findings, ready, f'leadline research "How does …?" {docs}')
    return 0 if ready else ConfigError.exit_code


def _advise(findings: list[Check], ready: bool, research: str) -> None:
    steps = list(dict.fromkeys(item.next or research for item in findings if item.state == "bad" or item.next))
    write("\nReady for research." if ready else "\nNot ready for research yet.")
    write("Next:\n" + "\n".join(f"  {step}" for step in steps or [research]))


def _examine(client: Client, *, quiet: bool) -> Iterator[Check]:
    yield Check("leadline", "ok", f"{__version__}, Python {platform.python_version()}, {platform.platform()}")
    try:
        loaded = client.load(complete=False)
    except ConfigError as error:
        yield from _plugins(client.catalog)
        yield Check("settings", "bad", str(error), "leadline config check")
        return
    yield from _plugins(loaded.catalog)
    yield from _settings(loaded)
    if not loaded.problems:
        yield from _shared(loaded.settings.runs)
        if not quiet:
            say("Trying each search engine and fetcher with one request …")
        yield from _trials(loaded)
    yield _folder("runs folder", loaded.settings.runs.folder.absolute(), "leadline doctor --folder DIR")
    yield _folder("cache folder", default_cache(), "export XDG_CACHE_HOME=DIR")


def _server(url: str) -> Iterator[Check]:
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
            yield Check("server", "bad", f"{url} does not answer: {error}; start it: leadline serve")
            return
    if health != (200, {"status": "ok"}):
        reason = health[1].get("message", "is it Leadline's address?")
        yield Check("server", "bad", f"{url} answers with HTTP {health[0]}: {reason}")
        return
    same = version == __version__
    yield Check("server", "ok" if same else "note", f"version {version}{'' if same else f', here {__version__}'}")
    yield Check("runs", "ok", "are taken") if ready == 200 else Check("runs", "bad", str(state.get("message")))
    if allowed == 200:
        yield Check("access", "ok", f"as {who['principal']}" if who["principal"] else "without a token: one user")
    else:
        missing = Check("access", "note", "needs a token: set LEADLINE_TOKEN to check yours")
        yield Check("access", "bad", f"LEADLINE_TOKEN: {who.get('message')}") if token else missing


def _plugins(catalog: PluginCatalog) -> Iterator[Check]:
    """Report plugins that cannot be used, and those of one file."""
    for entry in catalog.entries():
        if entry.status in ("broken", "other API"):
            yield Check(f"plugin {entry.name}", "note", entry.lacks)
        elif entry.distribution.endswith(".py"):
            yield Check(f"plugin {entry.name}", "ok", f"{entry.distribution} {entry.version}")


def _settings(loaded: Loaded) -> Iterator[Check]:
    """Report selected plugins, plugins that were left out, and errors in the settings."""
    for key, names in loaded.chosen.items():
        if names and key != "pipeline":
            yield Check(key, "ok", ", ".join(names))
    yield from (Check(f"plugin {name}", "note", reason) for name, reason in loaded.dropped.items())
    yield from (Check("settings", "note", notice) for notice in loaded.notices)
    if loaded.untrusted:
        yield Check("settings", "bad", str(loaded.untrusted), "leadline trust")
    yield from (
        Check("settings", "bad", problem.replace("\n  ", "; "), _remedy(problem, loaded.unset))
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


def _pipeline(loaded: Loaded) -> Check:
    name = loaded.settings.pipeline
    try:
        pipeline = PluginRuntime(loaded).pipeline()
    except ConfigError as error:
        return Check(f"pipeline {name}", "bad", str(error).replace("\n", "; "), "leadline config check")
    stages = sum(1 for _ in pipeline.steps())
    return Check(f"pipeline {name}", "ok", f"{stages} stages, inputs and outputs match")


def _shared(runs: Runs) -> Iterator[Check]:
    """Check what several machines share."""
    try:
        store = open_store(runs)
    except LeadlineError as error:
        yield Check("database", "bad", str(error), "leadline config show")
        return
    if store:
        yield from store.check()
        close_store(store)
        if not runs.dispatcher:
            missing = "runs.dispatcher is empty: on several machines a plugin gives the runs to workers"
            yield Check("dispatcher", "bad", missing, "leadline plugins list --kind dispatchers")


def _trials(loaded: Loaded) -> Iterator[Check]:
    """Try each chosen engine and fetcher; research needs one engine that works, and a fetcher for what it finds."""
    try:
        searches, fetches, notices = task_groups.run_loop(try_out(loaded))
    except ConfigError as error:
        yield Check("trial", "bad", str(error), "leadline config check")
        return
    yield from (Check("documents", "note", notice) for notice in notices)
    if searches and all(finding.state != "ok" for finding in searches.values()):
        for name, finding in searches.items():
            yield replace(finding, state="bad", next=f"leadline plugins show {name}")
    else:
        yield from searches.values()
    yield from fetches


def _folder(what: str, path: Path, remedy: str) -> Check:
    """Check that a folder, or its nearest existing parent, is writable and has free space."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            free = shutil.disk_usage(there).free
    except OSError as error:
        return Check(what, "bad", f"{near(path)} cannot be written: {error.strerror or error}", remedy)
    state: Literal["ok", "note"] = "ok" if free > LOW else "note"
    return Check(what, state, f"{near(path)}, {free / 1024**3:,.1f} GB free")


# --- the trial: one harmless request to each chosen engine and fetcher ------------------------------------------------


R = TypeVar("R", bound=Record)
# Common words of several languages; the next is asked for if one has no hit.
QUERIES = ("time", "year", "name", "number", "use", "Jahr", "année", "año", "年")


async def try_out(loaded: Loaded) -> tuple[dict[str, Check], list[Check], tuple[str, ...]]:
    """Return findings by engine, those about fetchers, and notices. Raises `ConfigError` as a run does."""
    async with adhoc_run(loaded, "Do the search engines and fetchers work?") as run:
        names = loaded.chosen["search.engines"]
        searches = await asyncio.gather(*(_search(run, name) for name in names))
        hits = [hit for _, hit in searches if hit and hit.text is None]
        fetches = await _fetches(run, loaded.chosen["read.fetchers"], hits)
        if name := loaded.settings.runs.dispatcher:
            fetches += await _dispatcher(run, name)
        return dict(zip(names, (finding for finding, _ in searches), strict=True)), fetches, run.notices


async def _dispatcher(run: Run, name: str) -> Sequence[Check]:
    """Return what a dispatcher finds if it has a method `check`."""
    try:
        provider = await run.plugins.instance("dispatchers", name).open()
        return await provider.check() if hasattr(provider, "check") else []
    except Exception as error:  # noqa: BLE001 - any, of the plugin or of its server
        return [Check("dispatcher", "bad", shortened(f"{name}: {error}"), f"leadline plugins show {name}")]


async def _search(run: Run, name: str) -> tuple[Check, Hit | None]:
    what, engine = f"engine {name}", run.plugins.instance("search_providers", name)

    async def do(request: SearchRequest, call: Call) -> Any:
        return as_page(await engine.method("search")(request, call))

    try:
        for query in QUERIES:
            page = await _request(run, engine, "search", SearchPage, SearchRequest(query=query, limit=1), do)
            for hit in page.hits[:1]:
                answer = f"answers; its first hit is {shortened(hit.url, 100)}"
                return Check(what, "ok", answer), hit.model_copy(update={"engine": name})
    except LeadlineError as error:
        return Check(what, "note", str(error)), None
    return Check(what, "ok", f"answers, without a hit for {', '.join(QUERIES)}"), None


async def _fetches(run: Run, names: Iterable[str], hits: Iterable[Hit]) -> list[Check]:
    """Fetch the first hit that each fetcher accepts; report hits that no fetcher accepts, and fetchers not tried."""
    findings: dict[str, Check] = {}
    fetchers, others = {name: run.plugins.instance("fetchers", name) for name in names}, dict[str, str]()
    for hit in hits:
        url, order, fault = hit.content_url or hit.url, fetchers_in_order(fetchers, hit.engine), ""
        accepting: list[str] = []
        try:
            accepting = [name for name in order if (await fetchers[name].get()).accepts(url)]
        except Exception as error:  # noqa: BLE001 - any error of a plugin that is created or asked is its fault
            fault = shortened(f"{type(error).__name__}: {error}")
        before = "not tried: {} accepts what was found, and is asked first; read.fetchers has the order"
        others |= {name: before.format(accepting[0]) for name in accepting[1:]}
        if not accepting:
            chosen = ", ".join(fetchers) or "none is chosen"
            fault = fault or f"no fetcher ({chosen}) reads {shortened(url, 100)}, a hit of {hit.engine}"
            findings.setdefault(url, Check("fetcher", "bad", fault, "leadline plugins list --kind fetchers"))
        elif accepting[0] not in findings:
            findings[accepting[0]] = await _fetch(run, fetchers[accepting[0]], url)
    nothing = "not tried: no engine found an address for it"
    untried = [name for name in fetchers if name not in findings]
    return [*findings.values(), *(Check(f"fetcher {name}", "ok", others.get(name, nothing)) for name in untried)]


async def _fetch(run: Run, fetcher: ProviderInstance, url: str) -> Check:
    what = f"fetcher {fetcher.name}"
    try:
        blob = await _request(run, fetcher, "fetch", Blob, FetchRequest(url=url))
    except LeadlineError as error:
        return Check(what, "note", str(error))
    return Check(what, "ok", f"reads {shortened(url, 100)}: {len(blob.data):,} bytes")


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
