"""The earlier turns of a conversation, for a run that continues it."""

from __future__ import annotations

from leadline.records.base import Record, Text
from leadline.records.documents import Source
from leadline.records.reports import Verdict


class Turn(Record):
    """A question with its answer. Only turns that were runs have claims."""

    question: Text
    """As it was understood: a question that stands alone."""
    answer: Text = ""
    """The report as Markdown with citations `[@evidence-id]`; empty if there was none."""
    run_id: str = ""
    claims: tuple[Verdict, ...] = ()
    """The claims of the report with their verdicts."""


class Conversation(Record):
    """The turns before a run, the oldest first, with the sources of all of them.

    A run keeps this as `conversation.json`, so that it can be resumed and replayed after the earlier runs are deleted.
    """

    id: str = ""
    turns: tuple[Turn, ...] = ()
    sources: tuple[Source, ...] = ()
    """With their documents; the newest report's first."""
    left_out: int = 0
    """The number of further sources, which together would be too long."""
    remembered: tuple[Turn, ...] = ()
    """Turns of other conversations of the user that share words with the question, the best first (`memory`)."""

    @property
    def last(self) -> Turn | None:
        """The last turn."""
        return self.turns[-1] if self.turns else None
