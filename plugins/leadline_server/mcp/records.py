"""Records of the MCP server's replies; their schemas are those of the tools."""

from __future__ import annotations

from leadline.records import Json, Record, Verdict

ACTIVE = ("pending", "running")


class AskedQuestion(Record):
    """A question of a run to the user; `research_answer` answers it."""

    id: str
    message: str
    json_schema: Json
    """The JSON schema of the answer."""
    seconds: float | None = None
    """The time that the run waits for the answer."""


class RunState(Record):
    """A run as of now. `status` is running until it is complete, partial, no_evidence, failed or cancelled.

    A run with the status waiting asks `questions`; one with the status interrupted lost its process and goes on when
    `research_result` asks for it.
    """

    run_id: str
    status: str
    question: str
    pipeline: str = ""
    step: str = ""
    """The step that is running."""
    steps_finished: int = 0
    steps_total: int = 0
    seconds: float = 0.0
    reason: str = ""
    """Why the run is not complete."""
    notices: tuple[str, ...] = ()
    """What the run did without."""
    questions: tuple[AskedQuestion, ...] = ()
    claims: Json = {}
    """The number of claims by verdict, after their check against the cited passages."""
    missing_words: tuple[str, ...] = ()
    """The words of the question that no passage has, in a report that only shows passages: those were not judged."""
    report: str = ""
    """The report as Markdown with its sources; only in results of `research` and `research_result`."""
    resources: tuple[str, ...] = ()
    """Addresses of the report and its verdicts; passages are at leadline://runs/ID/evidence/EVIDENCE_ID."""
    hint: str = ""
    """What to do next."""

    @property
    def works(self) -> bool:
        """True if the run makes progress without anybody's help."""
        return self.status in ACTIVE


class Verdicts(Record):
    """All verdicts of a report; `passed` is the decision of the run's verification, None for quoted passages alone."""

    passed: bool | None
    claims: Json
    verdicts: tuple[Verdict, ...]
    uncited: tuple[str, ...] = ()
    """Statements without a citation."""
