"""Reading many files: in batches that fit into memory, each parsed so that a fault costs its file only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from leadline.contracts import Call, Context
from leadline.errors import PluginError, ProviderError
from leadline.records import Blob, Document

T = TypeVar("T")
# Files and bytes of a batch, which is held in memory.
_FILES = 64
_BYTES = 2_000_000


def batches(files: Iterable[T], size: Callable[[T], int]) -> Iterator[list[T]]:
    """Yield files in batches; `size` returns the bytes of one."""
    batch: list[T] = []
    total = 0
    for file in files:
        if batch and (len(batch) >= _FILES or total + size(file) > _BYTES):
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += size(file)
    if batch:
        yield batch


async def parsed(context: Context, blob: Blob, call: Call) -> Document | str:
    """Return the document of a file, or the reason why it cannot be parsed."""
    try:
        return await context.parse(blob, call)
    except ProviderError as error:
        return str(error).removeprefix(f"{blob.name}: ")
    except Exception as error:  # noqa: BLE001 - a parser may raise anything; it costs its file only
        reason = str(error) if isinstance(error, PluginError) else f"{type(error).__name__}: {error}"
        return f"its parser failed: {reason}"
