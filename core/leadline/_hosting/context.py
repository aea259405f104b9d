"""The context of a plugin: the implementation of `leadline.contracts.Context`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar

from leadline.errors import Unsupported
from leadline.http import make_client

if TYPE_CHECKING:
    from httpx import AsyncClient

    from leadline.contracts import Call
    from leadline.records import Blob, Document

P = ParamSpec("P")
T = TypeVar("T")
# Threads of one plugin.
THREADS = 8
# Seconds for a connection of a plugin's HTTP client.
CONNECT_SECONDS = 10.0


class DocumentReader(Protocol):
    """The configured parsers."""

    def parses(self, media_type: str) -> bool: ...
    async def parse(self, blob: Blob, call: Call) -> Document: ...


class _Masking(logging.Filter):
    """Masks secrets in the message and the traceback of each line."""

    def __init__(self, scrub: Callable[[str], str]) -> None:
        super().__init__()
        self._scrub = scrub

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if (masked := self._scrub(text)) != text:
            record.msg, record.args = masked, ()
        if record.exc_info:
            trace = logging.Formatter().formatException(record.exc_info) if record.exc_info[0] else ""
            if (masked := self._scrub(trace)) != trace:
                record.exc_info, record.exc_text = None, masked
        return True


class MaskedLogger(logging.Logger):
    """Hands its lines, with secrets masked, to the logger of the same name, whose level and handlers count.

    Runs in one process have different secrets, so the common logger cannot mask them.
    """

    def __init__(self, name: str, masking: logging.Filter) -> None:
        super().__init__(name)
        self._masking = masking
        self._common = self.parent = logging.getLogger(name)

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 - the name in logging
        return self._common.isEnabledFor(level)

    def getChild(self, suffix: str) -> MaskedLogger:  # noqa: N802 - the name in logging
        return MaskedLogger(f"{self.name}.{suffix}", self._masking)

    def handle(self, record: logging.LogRecord) -> None:
        """Mask a line and pass it on."""
        self._masking.filter(record)
        self._common.handle(record)


class PluginContext:
    """A log, a cache folder, HTTP clients, threads and the parsers for one plugin."""

    def __init__(
        self,
        name: str,
        cache_dir: Path,
        reader: DocumentReader | None = None,
        runs: Path | None = None,
        *,
        scrub: Callable[[str], str] = str,
    ) -> None:
        """`scrub` masks secrets in the lines of the log and in those of httpx."""
        self.name = name
        self._masking = _Masking(scrub)
        self.log: logging.Logger = MaskedLogger(f"leadline.plugins.{name}", self._masking)
        self.cache_dir = cache_dir / name
        self.caches = True
        self.own: tuple[Path, ...] = (cache_dir, runs) if runs else (cache_dir,)
        self._reader = reader
        self._clients: list[AsyncClient] = []
        self._threads: ThreadPoolExecutor | None = None

    def http(self, **options: Any) -> AsyncClient:
        """Return an httpx client with Leadline's user agent; proxies and certificates come from the environment.

        The deadline of the call limits a request, not the five seconds of httpx.
        """
        from httpx import Timeout

        client = make_client(**{"timeout": Timeout(None, connect=CONNECT_SECONDS), **options})
        logging.getLogger("httpx").addFilter(self._masking)  # it logs each address, which may hold a key
        self._clients.append(client)
        return client

    async def in_thread(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run blocking code in the threads of this plugin."""
        if self._threads is None:
            self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix=f"leadline-{self.name}")
        return await asyncio.get_running_loop().run_in_executor(self._threads, partial(do, *args, **kwargs))

    def parses(self, media_type: str) -> bool:
        """Return whether a configured parser accepts this media type."""
        return self._reader is not None and self._reader.parses(media_type)

    async def parse(self, blob: Blob, call: Call) -> Document:
        """Parse bytes with the configured parsers."""
        if self._reader is None:
            raise Unsupported(f"{blob.name}: there is no parser")
        return await self._reader.parse(blob, call)

    async def close(self) -> None:
        """Close the clients and release the threads."""
        for client in self._clients:
            await client.aclose()
        logging.getLogger("httpx").removeFilter(self._masking)
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
