"""What the pages of a run work out."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from leadline.citations import cite
from leadline.records import Notice
from leadline.runs import Metadata, StepError
from leadline_server.page.run_pages import _CITATION, _cite, waiting_before
from leadline_server.page.templating import _marked
from leadline_server.page.wording import outcome, shortcomings, shortfall, target
from leadline_server.queue import QueuedRun
from leadline_server.views import RunView


def queued(run_id: str, ordered: float, state: str = "waiting") -> QueuedRun:
    return QueuedRun(run_id, "alice", None, state, 0, "", ordered, False, False, "", "")  # type: ignore[arg-type]


@pytest.mark.parametrize(("run_id", "before"), [("first", 0), ("second", 1), ("third", 2), ("begun", 0), ("none", 0)])
def test_the_place_in_the_queue_counts_waiting_runs_that_were_ordered_earlier(run_id: str, before: int) -> None:
    runs = [queued("third", 3.0), queued("first", 1.0), queued("begun", 0.5, "claimed"), queued("second", 2.0)]
    assert waiting_before(runs, run_id) == before


def test_a_number_of_no_passage_is_left_out_of_a_draft() -> None:
    drafted = [_CITATION.sub(partial(_cite, sources), "Deep [0] [1] [2].") for sources in ((), ("p1",))]
    assert drafted == ["Deep.", f"Deep{cite('p1')}."]


BEGAN = datetime(2026, 3, 1, tzinfo=UTC)
FAILED = Metadata(run_id="r", trace_id="t", question="How deep?", pipeline="research", status="failed", began=BEGAN)
OFFLINE = StepError(message=Notice("[Errno -2]"), category="NETWORK")
BROKEN = StepError(message=Notice("KeyError"), category="BUSINESS")
INTERNAL = StepError(message=Notice("no AI provider answered"), category="INTERNAL")
STOPPED = StepError(message=Notice("stopped on the page", "stopped"), category="RESOURCE_LIMIT")


@pytest.mark.parametrize(
    ("changes", "title", "button"),
    [
        (
            {"errors": (StepError(message="[Errno -2]", category="NETWORK"),)},
            "A service could not be reached",
            "Try again",
        ),
        ({"errors": (BROKEN,)}, "Something went wrong", "Try again"),
        ({"errors": (INTERNAL, OFFLINE)}, "A service could not be reached", "Try again"),
        ({"status": "cancelled", "reason": Notice("cancelled on the page")}, "This run was stopped", "Continue"),
        ({"status": "no_evidence"}, "No answer was found", ""),
        ({"audit": {"accepted": False}}, "The report was rejected", "Try again"),
    ],
)
def test_people_read_what_happened_without_exceptions_and_names(
    changes: dict[str, Any], title: str, button: str
) -> None:
    ended = outcome(RunView.of(FAILED.model_copy(update=changes)))
    assert (ended.title, ended.button) == (title, button)
    assert "Errno" not in ended.sentence


@pytest.mark.parametrize(
    ("url", "leads"),
    [
        ("knowledge://own/0a1b/x.pdf", "/documents/0a1b"),
        ("knowledge://own/..", ""),
        ("local://papers/0a1b/x.pdf", ""),
        ("https://example.org/?knowledge://own/0a1b/x", "https://example.org/?knowledge://own/0a1b/x"),
    ],
)
def test_the_title_of_a_stored_document_leads_to_its_page(url: str, leads: str) -> None:
    assert target(url) == leads


def test_shortcomings_leave_out_the_stop_of_a_user_and_kinds_without_words() -> None:
    assert shortcomings([INTERNAL, STOPPED]) == []
    assert [text.partition(",")[0] for text in shortcomings([STOPPED, OFFLINE, OFFLINE])] == ["The web"]


def test_a_report_that_its_user_stopped_says_so() -> None:
    stopped = Notice.several([Notice("stopped on the page", "stopped"), "without digest"])
    assert shortfall(RunView.of(FAILED.model_copy(update={"reason": stopped}))).startswith("You stopped")


def test_the_words_of_a_search_are_marked_and_everything_is_escaped() -> None:
    marked = _marked("## The **pier** <of> Pier C", "pier <of>")
    expected = 'The <mark class="is-quoted">pier</mark> <mark class="is-quoted">&lt;of&gt;</mark> '
    assert marked == expected + '<mark class="is-quoted">Pier</mark> C'
    assert _marked("a", "") == "a"
