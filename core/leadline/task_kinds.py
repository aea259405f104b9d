"""Tasks as plugins declare them in their offers: so that settings can name them, and people see what models are told.

The core knows no task; what a pipeline may ask is what its plugins declare.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from leadline.expecting import Expected, Scope
from leadline.records import Json, Record
from leadline.tasks import Role, Task

Q = TypeVar("Q", bound=Record)
R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class TaskKind(Generic[Q, R]):
    """A task that a plugin asks, in `tasks` of its offer. The fields are those of `Task`."""

    name: str
    inputs: type[Q]
    reply: type[R]
    prompt: str = ""
    role: Role = "task"
    shrink: Callable[[Any], Record | None] | None = None
    check: Callable[[Any, Any], str] | None = None
    mend: Callable[[Any, Any], tuple[Any, str] | None] | None = None
    lacks: Callable[[Any, Any], str] | None = None
    shows: tuple[str, ...] = ()
    schema: Json | None = None
    example: str = ""
    show: Callable[[Any], str] | None = None
    expects: Callable[[Scope], Expected] | None = None
    """Says what it will cost, for `leadline explain`; None: nobody knows."""

    def of(self, inputs: Q, *, sample: int = 0) -> Task[R]:
        """Return the task with these inputs."""
        return Task(
            self.name,
            inputs,
            self.reply,
            self.prompt,
            self.role,
            sample,
            shrink=self.shrink,
            check=self.check,
            mend=self.mend,
            lacks=self.lacks,
            shows=self.shows,
            schema=self.schema,
            example=self.example,
            show=self.show,
        )
