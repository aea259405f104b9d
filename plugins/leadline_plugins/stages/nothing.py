"""Why there is no evidence: said by what happened, for a search that failed has not found nothing."""

from __future__ import annotations

from collections.abc import Sequence

from leadline.findings import Found, Question, Unread
from leadline.records import Source
from leadline_plugins.stages.method import failed_engines


def nothing(question: Question, found: Sequence[Found], sources: Sequence[Source], unread: Sequence[Unread]) -> str:
    """Return why nothing was found, with the first failure where something failed."""
    if sources:
        return f"nothing in the {_pages(sources)} read bears on: {question.text}"
    if unread:
        return f"none of the {_pages(unread)} found could be read: {_first(unread)}"
    failed = [item.failure for item in found if item.failure]
    if failed and len(failed) == len(found):
        return f"every search failed ({len(found)}), the first: {failed[0]}"
    kept = "nothing that can be cited" if any(item.hits for item in found) else "nothing"
    engines = [f"{one['engine']} failed in {one['searches']}: {one['reason']}" for one in failed_engines(found)]
    failures = [f"{len(failed)} of {len(found)} searches failed, the first: {failed[0]}"] if failed else engines
    return "; ".join([f"{kept} was found on: {question.text}", *failures])


def _first(unread: Sequence[Unread]) -> str:
    alike = len({item.reason for item in unread}) == 1
    return unread[0].reason if alike else f"of the first, {unread[0].reason}"


def _pages(pages: Sequence[object]) -> str:
    return "one page that was" if len(pages) == 1 else f"{len(pages)} pages that were"
