"""The words and numbers of the page: verdicts, statuses, amounts, times."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

STATUSES: Mapping[str, str] = {
    "pending": "queued",
    "running": "running",
    "waiting": "waiting for an answer",
    "complete": "complete",
    "partial": "partial",
    "no_evidence": "no evidence",
    "failed": "failed",
    "cancelled": "cancelled",
    "interrupted": "interrupted",
    "unreadable": "unreadable",
}
ACTIVE = ("pending", "running", "waiting")
# What a stage does, for people; the stages of other packages keep their names.
STAGES: Mapping[str, str] = {
    "route": "Choose the pipeline",
    "follow_up": "Relate to the conversation",
    "clarify": "Understand the question",
    "plan": "Plan the report",
    "reuse": "Reuse earlier sources",
    "query": "Choose searches",
    "search": "Search",
    "explore": "Search and read",
    "fetch": "Read sources",
    "extract": "Cut passages",
    "verify_evidence": "Verify passages",
    "retrieve": "Retrieve passages",
    "digest": "Summarise what is known",
    "review": "Look for gaps",
    "synthesize": "Write sections",
    "condense": "Remove repetition",
    "answer": "Answer",
    "reply": "Answer",
    "think": "Think in steps",
    "code": "Write and run a program",
    "requirements": "Write the requirements",
    "chart": "Draw charts",
    "illustrate": "Choose pictures",
    "write": "Compose the report",
    "verify": "Check every claim",
    "audit": "Accept or reject",
    "export": "Write files",
}
STAGE_STATES: Mapping[str, str] = {"pending": "to do", "started": "at work", "finished": "done", "failed": "failed"}
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
# The pipeline that chooses another one for the question.
ROUTER = "auto"
LEVELS = ("fast", "analytical", "agent")
# Kinds of plugin that a pipeline may lack.
LACKING: Mapping[str, str] = {
    "ai_providers": "a language model",
    "sandboxes": "a sandbox for programs",
    "search_engines": "a search engine",
}


def money(value: Any) -> str:
    """Return an amount of US dollars: `$0.0042`, `$1.20`."""
    amount = _number(value)
    if amount == 0:
        return "$0"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.2g}" if amount >= 0.0001 else "less than $0.0001"


def duration(seconds: Any) -> str:
    """Return a time: `3.4 s`, `2 min 5 s`, `1 h 10 min`."""
    value = max(0.0, _number(seconds))
    if value < 10:
        return f"{value:.1f} s"
    if value < 60:
        return f"{value:.0f} s"
    minutes, rest = divmod(round(value), 60)
    if minutes >= 60:
        return f"{minutes // 60} h {minutes % 60} min"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"


def count(value: Any) -> str:
    """Return a whole number with separators."""
    return f"{int(_number(value)):,}"


def plural(value: Any, singular: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{count(value)} {singular if int(_number(value)) == 1 else many or singular + 's'}"


def day(value: datetime | None) -> str:
    """Return a time in UTC: `28 Nov 2026, 14:05`."""
    return f"{value.astimezone(UTC):%-d %b %Y, %H:%M}" if value else ""


def iso(value: datetime | None) -> str:
    """Return a time for programs."""
    return value.astimezone(UTC).isoformat() if value else ""


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return 0.0
