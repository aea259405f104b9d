"""The door of the embedded provider: a typed task in, the algorithm of its name, a typed reply out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from leadline.computing import compute
from leadline.contracts import Call
from leadline.errors import Unsupported
from leadline.records import Record
from leadline.tasks import Task
from leadline_plugins.ai.embedded.digest import digest
from leadline_plugins.ai.embedded.extract import extract
from leadline_plugins.ai.embedded.plan import plan
from leadline_plugins.ai.embedded.query import query
from leadline_plugins.ai.embedded.review import review
from leadline_plugins.ai.embedded.sort import sort
from leadline_plugins.ai.embedded.write import synthesize, write

R = TypeVar("R", bound=Record)
ALGORITHMS: Mapping[str, Callable[[Any], Record]] = {
    function.__name__: function for function in (plan, query, extract, digest, review, sort, synthesize, write)
}


class Embedded:
    """Performs the tasks of research by algorithm; the same inputs give the same reply."""

    async def perform(self, task: Task[R], call: Call, /) -> R:
        """Perform a task; raises `Unsupported` for one that takes a language model."""
        algorithm = ALGORITHMS.get(task.name)
        if algorithm is None:
            known = ", ".join(ALGORITHMS)
            raise Unsupported(
                f"The embedded provider has no algorithm for the task '{task.name}'; it knows {known}. "
                "Put a language model into ai.providers for it."
            )
        # Sorting takes up to a second of a large run: other runs of the process go on meanwhile.
        reply = await compute(algorithm, task.inputs)
        assert isinstance(reply, task.reply)
        return reply
