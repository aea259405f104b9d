"""The words and numbers of the page: verdicts, statuses, amounts, times."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from leadline.records import Notice
from leadline.rendering import safe_url
from leadline_server.page.languages import gettext, translate
from leadline_server.views import RunView

STATUSES: Mapping[str, str] = {
    "pending": "queued",
    "running": "running",
    "waiting": "waiting for an answer",
    "complete": "complete",
    "partial": "partial",
    "no_evidence": "no answer found",
    "failed": "failed",
    "cancelled": "stopped",
    "interrupted": "interrupted",
    "unreadable": "unreadable",
}
# What a stage does, for people; the stages of other packages keep their names.
STAGES: Mapping[str, str] = {
    "route": "Choosing how to answer",
    "follow_up": "Relating it to the conversation",
    "clarify": "Understanding the question",
    "plan": "Planning the report",
    "reuse": "Looking at earlier sources",
    "query": "Choosing searches",
    "search": "Searching",
    "explore": "Searching and reading",
    "fetch": "Reading sources",
    "extract": "Choosing passages",
    "verify_evidence": "Checking passages",
    "retrieve": "Finding passages",
    "digest": "Summing up what is known",
    "review": "Looking for gaps",
    "synthesize": "Writing the sections",
    "condense": "Removing repetition",
    "answer": "Writing the answer",
    "reply": "Writing the answer",
    "think": "Thinking in steps",
    "code": "Writing and running a program",
    "requirements": "Writing the requirements",
    "chart": "Drawing charts",
    "illustrate": "Choosing pictures",
    "write": "Putting the report together",
    "verify": "Checking every claim",
    "audit": "Deciding whether it is good enough",
    "export": "Writing files",
}
STAGE_STATES: Mapping[str, str] = {
    "pending": "to do",
    "started": "at work",
    "finished": "done",
    "skipped": "left out",
    "failed": "failed",
}
# Formats in the order in which readers want them; those of other packages follow.
FORMATS: Mapping[str, str] = {
    "pdf": "PDF",
    "docx": "Word",
    "html": "HTML",
    "markdown": "Markdown",
    "epub": "EPUB",
    "latex": "LaTeX",
    "bibtex": "BibTeX",
    "csl": "CSL JSON",
    "tables": "Tables as CSV",
    "json": "JSON",
}
# Tiers of sources, and how far the sources answer a section.
TIERS: Mapping[int, str] = {1: "primary or official", 2: "reputable"}
COVERAGE: Mapping[str, str] = {"covered": "answered", "partial": "answered in part", "missing": "open"}
# Other ways to answer, for readers: title and sentence; those without an entry have their names and descriptions.
WAYS: Mapping[str, tuple[str, str]] = {
    "auto": ("Let Leadline choose", "The way to answer that fits the question."),
    "audited": ("Strictly checked", "An unclear question is asked back; a report that fails the checks is not shown."),
    "oneshot": ("One search", "Searched once and written in one go: fast, and the least thorough."),
}
# The pipeline that chooses another one for the question.
ROUTER = "auto"
LEVELS = ("fast", "analytical", "agent")


@dataclass(frozen=True)
class Outcome:
    """How a run without a report ended, for people: a title, one sentence, and the button for what to do."""

    title: str
    sentence: str
    button: str = ""
    retry: bool = False


# What kinds of failures mean for the reader.
FAILURES: Mapping[str, str] = {
    "NETWORK": "The web, or a service that this server asks, did not answer.",
    "LLM": "Replies of the language model could not be used.",
    "RESOURCE_LIMIT": "A limit of cost or time was reached.",
    "BUSINESS": "A part of Leadline did not work; its operator can see why in the technical detail.",
}


def outcome(view: RunView) -> Outcome:
    """Return how a run without a report ended."""
    match view.status:
        case "no_evidence":
            words = "Leadline searched and read, but nothing that it read answers the question. No report was written."
            return Outcome(gettext("No answer was found"), gettext(words))
        case "cancelled":
            words = "It ended before a report was written. What was paid for is kept: it can go on where it was."
            return Outcome(gettext("This run was stopped"), gettext(words), gettext("Continue"))
        case "interrupted":
            words = "The server was restarted while it worked. It can go on where it was; nothing is paid for twice."
            return Outcome(gettext("This run was interrupted"), gettext(words), gettext("Continue"))
        case "complete" | "partial":
            return Outcome(gettext("The report is missing"), gettext("The run ended, but its report cannot be read."))
    if view.audit.get("accepted") is False:
        words = "The report did not pass the checks that this server demands, so it is not shown."
        return Outcome(gettext("The report was rejected"), gettext(words), gettext("Try again"), retry=True)
    category = next((error.category for error in view.errors if error.category in FAILURES), "")
    words = f"{gettext(FAILURES.get(category, ''))} {gettext('It ended without a report.')}".strip()
    if category == "NETWORK":
        return Outcome(gettext("A service could not be reached"), words, gettext("Try again"), retry=True)
    return Outcome(gettext("Something went wrong"), words, gettext("Try again"), retry=True)


def shortcomings(errors: Iterable[Any]) -> list[str]:
    """Return in a sentence each what kinds of errors mean for the reader; the stop of a reader is none."""
    categories = dict.fromkeys(error.category for error in errors if Notice.read(error.message).code != "stopped")
    return [gettext(FAILURES[category]) for category in categories if category in FAILURES]


def money(value: Any) -> str:
    """Return an amount of US dollars: `$0.0042`, `$1.20`."""
    amount = _number(value)
    if amount < 0.0001:
        return gettext("less than $0.0001") if amount else "$0"
    return f"${amount:.2f}" if amount >= 0.01 else f"${amount:.2g}"


def duration(seconds: Any) -> str:
    """Return a time: `3.4 s`, `2 min 5 s`, `1 h 10 min`."""
    value = max(0.0, _number(seconds))
    if value < 10:
        return gettext("%(seconds)s s", seconds=f"{value:.1f}")
    if value < 60:
        return gettext("%(seconds)s s", seconds=f"{value:.0f}")
    minutes, rest = divmod(round(value), 60)
    if minutes >= 60:
        return gettext("%(hours)s h %(minutes)s min", hours=minutes // 60, minutes=minutes % 60)
    if rest:
        return gettext("%(minutes)s min %(seconds)s s", minutes=minutes, seconds=rest)
    return gettext("%(minutes)s min", minutes=minutes)


def shortfall(view: RunView) -> str:
    """Return in one sentence why a report is not complete."""
    if any(part.code == "stopped" for part in Notice.read(view.reason).parts):
        return gettext("You stopped the search, and it was written from what was found until then.")
    sentences = shortcomings(view.errors)
    return sentences[0] if sentences else gettext("Parts of it could not be written or checked.")


def rough(seconds: float) -> str:
    """Return a time as people say it: `20 s`, `4 min`."""
    if seconds < 90:
        return gettext("%(seconds)s s", seconds=f"{max(10, round(seconds, -1)):.0f}")
    return gettext("%(minutes)s min", minutes=f"{seconds / 60:.0f}")


def stage(name: str) -> str:
    """Return what a stage does; of other packages its name."""
    return gettext(STAGES.get(name) or name.replace("_", " ").capitalize())


def site(url: str) -> str:
    """Return the name of the site of an address; empty for a document."""
    host = urlsplit(url).hostname if url.startswith("http") else ""
    return (host or "").removeprefix("www.")


def target(url: str) -> str:
    """Return where the title of a source leads: of a stored document to its page; empty if nowhere."""
    scheme, _, path = url.partition("://")
    key = "".join(path.split("/")[1:2])
    return f"/documents/{key}" if scheme == "knowledge" and key.isalnum() else safe_url(url)


def count(value: Any) -> str:
    """Return a whole number with separators."""
    return f"{int(_number(value)):,}"


def plural(value: Any, singular: str, many: str = "") -> str:
    """Return a number with its noun; languages without plural forms translate the singular."""
    noun = singular if int(_number(value)) == 1 else many or f"{singular}s"
    return translate(f"%(number)s {singular}", f"%(number)s {noun}") % {"number": count(value)}


def day(value: datetime | None) -> str:
    """Return a time in UTC: `28 Nov 2026, 14:05`."""
    return value.astimezone(UTC).strftime(gettext("%-d %b %Y, %H:%M")) if value else ""


def iso(value: datetime | None) -> str:
    """Return a time for programs."""
    return value.astimezone(UTC).isoformat() if value else ""


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0
