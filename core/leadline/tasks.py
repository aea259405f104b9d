"""Typed tasks: what a stage asks of a model, whoever answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from leadline.records import Record

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Task(Generic[R]):
    """A typed request to a model.

    `name` is its key in `[ai.tasks]` and the name of its template in `[prompts]`; `prompt` is the default template,
    `sample` tells wanted repetitions apart.
    """

    name: str
    inputs: Record
    reply: type[R]
    prompt: str = ""
    role: Literal["thinking", "task"] = "task"
    sample: int = 0
