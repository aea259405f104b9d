"""The typed task of digesting a round: synthesis, review and the next searches in one reply."""

from __future__ import annotations

from typing import Annotated

from leadline.findings import Digest, Plan, Query, Question, SectionReview
from leadline.records import SINGLE, Record, Text
from leadline.schemas import BOOLEAN, NUMBER, TEXT, list_of, object_of, one_of
from leadline_plugins.prompting import inputs, passages
from leadline_plugins.prompting.inputs import PastSearch
from leadline_plugins.prompting.passages import ShownSource
from leadline_plugins.tasks.planning import QUERIES


class DigestRequest(Record):
    """Asks to merge the passages of this round with what was known, to review the research, and what to search next."""

    question: Question
    plan: Plan
    round: int
    more: bool = True
    """Whether another round of searches can follow."""
    last: Digest | None = None
    past: tuple[PastSearch, ...] = ()
    sources: tuple[ShownSource, ...] = ()
    """The best passages of this round."""
    today: str = ""

    def as_text(self) -> str:
        """Return the inputs as the model reads them."""
        return inputs.joined(
            inputs.about(self.question, self.today),
            inputs.outline(self.plan),
            inputs.state(self.last) if self.last else "",
            inputs.searches(self.past),
            "" if self.more else "No more searches are possible: `queries` is empty.",
            passages.as_text(self.sources),
        )


class DigestReply(Record):
    """The state of the research after a round; the searches stand early, so that they can start while it is written."""

    is_sufficient: bool = False
    sections: tuple[Annotated[SectionReview, SINGLE], ...] = ()
    """Those that are not covered; the others count as covered."""
    gaps: tuple[Text, ...] = ()
    queries: tuple[Annotated[Query, SINGLE], ...] = ()
    synthesis: Text = ""
    cross_links: tuple[Text, ...] = ()


DIGEST_SCHEMA = object_of(
    is_sufficient=BOOLEAN,
    sections=list_of(object_of(id=TEXT, coverage=one_of("covered", "partial", "missing"), depth=NUMBER)),
    gaps=list_of(TEXT),
    queries=QUERIES,
    synthesis=TEXT,
    cross_links=list_of(TEXT),
)
DIGEST_EXAMPLE = (
    '{"is_sufficient": false, "sections": [{"id": "2", "coverage": "missing", "depth": 0.0}], "gaps": ["Which noise '
    'limits apply at night?"], "queries": [{"query": "heat pump noise limit night", "goal": "legal limits", '
    '"priority": "high", "section": "2"}], "synthesis": "Installation costs 12,000 to 25,000 euros.", '
    '"cross_links": []}'
)
