"""The contract tests of a plugin as it is installed, with its settings, for `leadline plugins check`.

No test contacts a service, unless native code does: one in this process answers HTTP requests with what fits most
readers, and then refuses them. What may fail because of the faked answer is left out, with the error; with `live`, one
real request is made.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import json
import os
import re
import socket
import ssl
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr, ValidationError

from leadline import records
from leadline import research_findings as keys
from leadline._hosting.faults import words
from leadline._hosting.loading import AnyOffer, Plugin
from leadline._settings.schema import unwrapped
from leadline._settings.secrets import SHORTEST
from leadline.display import choose_from
from leadline.errors import CallFailed, PluginError, ProviderError
from leadline.hookspecs import PluginSettings, map_stage
from leadline.records import Answer, Book, Record
from leadline.testing import contracts
from leadline.testing.context import FakeRun
from leadline.testing.contracts.base import Subject
from leadline.testing.contracts.blame import BlockedEventLoop, modules_of
from leadline.testing.contracts.checks import line_of, must, without_method
from leadline.testing.contracts.reports import REPORT

_REAL = "test_it_answers_a_real_request"
_FREE = "test_it_leaves_the_event_loop_free"
_REFUSAL = "test_a_refusal_is_raised"
# Tests that say something about a plugin that cannot read the answer of the faked service.
_WITHOUT_REPLY = {
    _FREE,
    "test_it_lets_itself_be_cancelled",
    "test_it_leaves_nothing_running",
    "test_it_closes_what_it_opens",
    "test_its_secrets_stay_inside",
}
_METHOD = "test_it_has_the_method_of_its_kind"
_FIELDS = "test_its_records_have_the_fields"
# Tests of what a plugin may decide: code in another language than Python, vectors that end with the process.
_MAY_BE_MEANT = {"test_code_that_ends_well_ends_with_0", "test_it_keeps_its_vectors"}
_MEANT = "if that is meant, say so in a test with the contract (`requests`, `lasting`)"
_UNREAD = "may come from the faked answer"
_TRY = "; `--live` makes one real call"
_WRITES = "would write to the store of the settings: write a test with the contract, as `plugins new --project` does"
_NO_SERVICE = "it made no request"
_NO_REQUESTS = "needs requests that fit the plugin: write a test with the contract, as `plugins new --project` does"
# pytest imports its tests from a file.
_FILE = "from leadline.testing.check import CLASSES\n\nglobals().update(CLASSES)\n"
CLASSES: dict[str, Any] = {}
# What a stage may need, by the name of the key.
_BOOK = Book(outline=REPORT.sections, evidence=REPORT.evidence, sources=REPORT.sources)
_FINDINGS: dict[str, Any] = {
    keys.QUESTION.name: keys.Question(text="How deep is the harbour of Port Ellery?"),
    keys.SOURCES.name: REPORT.sources,
    keys.EVIDENCE.name: REPORT.evidence,
    keys.BOOK.name: _BOOK,
    keys.PARTS.name: REPORT.sections,
    keys.SECTIONS.name: REPORT.sections,
    keys.REPORT.name: REPORT,
}


def check(plugin: Plugin, settings: PluginSettings, *, live: bool) -> int:
    """Run the contract tests of all kinds of a plugin, and return the exit code of pytest."""
    CLASSES.clear()
    service = _Service()
    for kind, offer in plugin.offers.items():
        name = f"Test_{plugin.name}_{kind}"
        fixtures: dict[str, Any] = {"offer": _fixture(offer), "tested": offer.make, "offered": offer}
        fixtures |= {
            "settings": _fixture(settings if live else _with_stand_ins(settings)),
            "new_run": _fixture(_Run),
            _FIELDS: _fields_exist,
            _METHOD: _method_exists,
        }
        if kind == "stages" and (findings := _findings(offer)) is not None:
            fixtures["requests"] = _fixture([findings])
        if offer.work == "remote":
            fixtures |= {"subject": service.subject(), "refused": service.refused()}
            if live:
                fixtures[_REAL] = _real_request
        CLASSES[name] = type(name, (_contract(kind, offer),), fixtures)
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = Path(folder) / f"test_{plugin.name}.py"
        file.write_text(_FILE, encoding="utf-8")
        # Of the plugins of pytest only this one: others cost up to a second.
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        options = ["-q", "--tb=no", "-rN", "-W", "ignore", "-p", "pytest_asyncio.plugin", "-p", "no:cacheprovider"]
        options += ["-o", "asyncio_default_fixture_loop_scope=function", "-o", "python_functions=test_*"]
        options += ["-c", os.devnull, "--rootdir", folder, str(file)]
        if any(offer.work == "remote" for offer in plugin.offers.values()):
            service.replace_network(patch, live=live)
        code = pytest.main(options, plugins=[report := _Report(service, _UNREAD if live else _UNREAD + _TRY)])
        return 1 if report.failed else int(code)


def _with_stand_ins(settings: PluginSettings) -> PluginSettings:
    """Return settings with a test value for each secret that is unset, or too short to be found in a text."""
    fields = type(settings).model_fields.items()
    secrets = {name: getattr(settings, name) for name, field in fields if unwrapped(field.annotation) is SecretStr}
    short = [name for name, value in secrets.items() if not value or len(value) < SHORTEST]
    return settings.model_copy(update=dict.fromkeys(short, SecretStr(contracts.KEY)))


def _fixture(value: Any) -> Any:
    return pytest.fixture(lambda self: value)


def _findings(offer: Any) -> dict[Any, Any] | None:
    """Return what a stage needs; None if that is not known here."""
    needs = (*([offer.over] if isinstance(offer, map_stage) else []), *offer.needs, *offer.wants)
    return {key: _FINDINGS[key.name] for key in needs} if all(key.name in _FINDINGS for key in needs) else None


class _Run(FakeRun):
    """A run without replies: a test that needs one is left out."""

    async def _reply(self, key: str, *request: Any, **options: Any) -> Any:
        raise pytest.skip.Exception(f"it asks its run for {key!r}, which {_NO_REQUESTS}")

    async def ask(self, message: str, json_schema: Any, default: Any = None, *, wait: float | None = None) -> Answer:
        if default is None:
            await self._reply("ask")
        return await super().ask(message, json_schema, default, wait=wait)


async def _real_request(self: Any, subject: Any, requests: Any) -> None:
    await subject.reply(requests[0])


def _contract(kind: str, offer: AnyOffer) -> type[contracts.PluginContract[Any, Any]]:
    """Return the contract of an offer."""
    if kind == "stages":
        return contracts.MapStageContract if isinstance(offer, map_stage) else contracts.StageContract
    if kind == "ai_providers" and not hasattr(offer.make, "chat") and hasattr(offer.make, "perform"):
        return contracts.TaskProviderContract
    known = (getattr(contracts, name) for name in contracts.__all__)
    return next(each for each in known if isinstance(each, type) and getattr(each, "kind", "") == kind)


async def _method_exists(self: Any, offer: AnyOffer) -> None:
    if isinstance(offer.make, type) and not hasattr(offer.make, "__getattr__"):
        line = inspect.getsourcelines(offer.make)[1]
        must(hasattr(offer.make, self.verb), f"{without_method(self.verb)} ({inspect.getfile(offer.make)}:{line})")


async def _fields_exist(self: Any, offer: AnyOffer) -> None:
    """Find misspelt fields without a call: a test may never come to the line."""
    unknown = [fault for name in modules_of(offer.make, offer.settings) for fault in _unknown_fields(sys.modules[name])]
    must(not unknown, "; ".join(unknown))


def _unknown_fields(module: Any) -> Iterator[str]:
    try:
        source = inspect.getsource(module)
    except OSError:  # it has none
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            record = getattr(module, node.func.id, None)
            if isinstance(record, type) and issubclass(record, Record) and record.__init__ is Record.__init__:
                aliases = {field.alias for field in record.model_fields.values()}
                for name in [word.arg for word in node.keywords if word.arg]:
                    if name not in {*record.model_fields, *aliases}:
                        choices = choose_from(name, record.model_fields)
                        yield f"{record.__name__} has no field {name!r} at {module.__file__}:{node.lineno}; {choices}"


# --- the service ------------------------------------------------------------------------------------------------------


# The body of a faked answer, which Python's `json` reads as a `_FakedValue` with lists of this length.
_BODY = '{"answer": "faked", "length": %d}'
_FAKED = re.compile(re.escape(_BODY).replace("%d", r"(\d+)"))


def _lengths(tree: Any) -> Iterator[int]:
    """Yield the lengths of the lists in a body."""
    if isinstance(tree, list):
        yield len(tree)
    for item in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from _lengths(item)


class _FakedValue(str):
    """A value of a faked answer: a text that is also a number and a year, and a table or list of such values."""

    length = 1

    def __new__(cls, length: int) -> _FakedValue:
        value = super().__new__(cls, "2000")
        value.length = length
        return value

    def __getitem__(self, key: Any) -> Any:
        return str(self)[key] if isinstance(key, slice) else self

    def __iter__(self) -> Iterator[Any]:
        return iter([self] * self.length)

    def get(self, key: str, default: Any = None) -> _FakedValue:
        return self

    def keys(self) -> tuple[str, ...]:
        return "url", "title", "snippet"

    def values(self) -> list[_FakedValue]:
        return [self]

    def items(self) -> list[tuple[str, _FakedValue]]:
        return [(key, self) for key in self.keys()]


class _Unread(Record):
    """Stands for the reply of a plugin that could not read the answer of the faked service."""


class _Service:
    """Answers all HTTP requests of the process; other connections are refused."""

    def __init__(self) -> None:
        self.restart()

    def restart(self, *, is_real: bool = False, is_counted: bool = False) -> None:
        """Answer the next test; a real request is let through. If `is_counted`, each text of a request has an item."""
        self.requests, self.status, self.is_real, self.is_counted = 0, 200, is_real, is_counted

    def replace_network(self, patch: pytest.MonkeyPatch, *, live: bool) -> None:
        """Send the requests of httpx to this service, and refuse what connects by other means."""
        send, decode = httpx.AsyncHTTPTransport.handle_async_request, json.JSONDecoder.decode
        connect, resolve = socket.socket.connect, socket.getaddrinfo

        async def answer(transport: Any, request: httpx.Request) -> httpx.Response:
            if self.is_real:
                return await send(transport, request)
            self.requests += 1
            await asyncio.sleep(0.01)  # a cancellation comes while the plugin waits
            headers, body = {"content-type": "application/json"}, _BODY % self._length(request)
            return httpx.Response(self.status, headers=headers, content=body.encode(), request=request)

        def read(decoder: json.JSONDecoder, text: str, *args: Any) -> Any:
            faked = _FAKED.fullmatch(text.strip())
            return _FakedValue(int(faked[1])) if faked else decode(decoder, text, *args)

        def refuse(self_: socket.socket, address: Any) -> None:
            if self.is_real or self_.family not in (socket.AF_INET, socket.AF_INET6):
                return connect(self_, address)
            self.requests += 1
            raise ConnectionRefusedError("`leadline plugins check` makes no connections without --live")

        def local(host: Any, port: Any, *args: Any, **options: Any) -> Any:
            return resolve(host if self.is_real else "127.0.0.1", port, *args, **options)

        patch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", answer)
        patch.setattr(json.JSONDecoder, "decode", read)
        patch.setattr(socket.socket, "connect", refuse)
        patch.setattr(socket, "getaddrinfo", local)
        if not live:  # each client reads all certificates, in 20 ms
            patch.setattr(ssl.SSLContext, "load_verify_locations", lambda *args, **options: None)

    def _length(self, request: httpx.Request) -> int:
        """Return the length of the lists in an answer: that of the longest list in the request, or 1."""
        try:
            return max(_lengths(json.loads(request.content)), default=1) if self.is_counted else 1
        except (ValueError, httpx.RequestNotRead):  # no JSON, or a stream
            return 1

    def subject(self) -> Any:
        """Return the fixture of a subject that may be unable to read the answers."""

        def subject(contract: Any, request: Any, plugin: Any, new_call: Any, secrets: Any) -> _FakedSubject:
            return _FakedSubject(self, request, contract, plugin, new_call, secrets)

        return pytest.fixture(subject)

    def refused(self) -> Any:
        """Return the fixture of a plugin whose service refuses its requests."""

        def refused(contract: Any, plugin: Any) -> Any:
            self.status = 401
            return plugin

        return pytest.fixture(refused)

    def may_cause(self, error: BaseException | None) -> bool:
        """Return whether an error may come from the content of an answer, and not from the plugin."""
        match _cause(error):
            case ProviderError() | CallFailed():
                return True  # of a client that is not Python's, too
            case AttributeError() as cause:
                may = isinstance(cause.obj, str | dict | list | None)
            case TypeError() as cause:
                may = re.search(r"_FakedValue|'str'|to str", str(cause)) is not None
            case ValidationError() as cause:
                may = not (hasattr(records, cause.title) and any(it["type"] == "missing" for it in cause.errors()))
            case (
                AssertionError() | KeyError() | NameError() | ImportError() | PluginError() | BlockedEventLoop() | None
            ):
                may = False
            case _:
                may = True
        return may and self.requests > 0


def _cause(error: BaseException | None) -> BaseException | None:
    """Return what a plugin raised, where a test says that it did."""
    return (error.__cause__ if isinstance(error, AssertionError) else None) or error


class _FakedSubject(Subject[Any, Any]):
    def __init__(self, service: _Service, request: Any, *parts: Any) -> None:
        super().__init__(*parts)
        self.service, self.needs_reply = service, request.node.originalname not in _WITHOUT_REPLY

    async def reply(self, request: Any, call: Any = None) -> Any:
        try:
            return await super().reply(request, call)
        except AssertionError as error:
            if self.needs_reply or not self.service.may_cause(error):
                raise
            return _Unread()


# --- the report -------------------------------------------------------------------------------------------------------


class _Report:
    """Selects the tests, and lists by name what failed and what could not be checked."""

    def __init__(self, service: _Service, unread: str) -> None:
        self.service, self.unread = service, unread
        self.failed, self.left_out = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)

    def pytest_collection_modifyitems(self, items: list[pytest.Function]) -> None:
        """Leave out tests that lack requests. Those come first after which the others would only repeat a failure."""
        lacking = [item for item in items if "requests" in item.fixturenames and not hasattr(item.cls, "requests")]
        self.left_out[_NO_REQUESTS] += map(_title, lacking)
        order = [_METHOD, _FIELDS, _REAL, _FREE]
        writing = [item for item in items if item not in lacking and _writes(item)]
        self.left_out[_WRITES] += map(_title, writing)
        items[:] = [item for item in items if item not in (*lacking, *writing)]
        items.sort(key=lambda item: order.index(item.originalname) if item.originalname in order else len(order))

    def pytest_runtest_setup(self, item: pytest.Function) -> None:
        is_counted = item.cls.kind in ("embedders", "rerankers")
        self.service.restart(is_real=item.originalname == _REAL, is_counted=is_counted)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Function, call: pytest.CallInfo[None]) -> Any:
        report = yield
        error = call.excinfo.value if call.excinfo else None
        cause = _cause(error)
        if report.failed and isinstance(cause, pytest.skip.Exception):
            report.outcome, report.longrepr = "skipped", ("", 0, str(cause))
        elif report.failed and item.originalname != _REAL and item.originalname not in _WITHOUT_REPLY:
            is_refusal, was_asked = item.originalname == _REFUSAL, self.service.requests > 0
            is_remote = item.cls.offered.work == "remote"
            if is_remote and is_refusal and not was_asked:
                report.outcome, report.longrepr = "skipped", ("", 0, _NO_SERVICE)
            elif is_remote and not is_refusal and cause and self.service.may_cause(error):
                report.outcome, report.longrepr = "skipped", ("", 0, f"{words(cause)}{line_of(cause)}: {self.unread}")
            elif item.originalname in _MAY_BE_MEANT:
                report.outcome, report.longrepr = "skipped", ("", 0, f"{error}; {_MEANT}")
        if report.skipped:
            self.left_out[report.longrepr[2].removeprefix("Skipped: ")].append(_title(item))
        elif report.failed and error:
            text = str(error) if isinstance(error, AssertionError) else f"{words(error)}{line_of(error)}"
            text += _method(item, text) if {"subject", "plugin"} & {*item.fixturenames} else ""
            self.failed[text].append(_title(item))
            if item.originalname in (_METHOD, _FREE):
                item.session.shouldstop = "the other tests would repeat this"
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        for text, titles in self.failed.items():
            terminalreporter.write_line(f"failed: {', '.join(dict.fromkeys(titles))}: {' '.join(text.split())}")
        for reason, titles in self.left_out.items():
            if titles:
                terminalreporter.write_line(f"left out: {', '.join(dict.fromkeys(titles))}: {reason}")


def _writes(item: pytest.Function) -> bool:
    """Return whether a test would write to the store that the settings name, which may not be reached by HTTP."""
    return item.cls.kind == "vector_stores" and item.cls.offered.work == "remote" and "context" in item.fixturenames


def _method(item: pytest.Function, text: str) -> str:
    """Return the place of the method that a message is about, if the message names no line of its file."""
    method: Any = getattr(item.cls.offered.make, item.cls.verb, None)
    code = getattr(inspect.unwrap(method), "__code__", None)
    if code is None or f"{code.co_filename}:" in text:
        return ""
    return f" (`{code.co_name}` at {code.co_filename}:{code.co_firstlineno})"


def _title(item: pytest.Function) -> str:
    if item.originalname == _FREE:
        return "it answers and leaves the event loop free"  # it asks before it measures
    return item.originalname.removeprefix("test_").replace("_", " ")
