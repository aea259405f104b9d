"""What becomes of a sorting by a model: what it made up is left out, and sections of one id are one section."""

from __future__ import annotations

from leadline_plugins.tasks.sorting import Sorted, SortedSection, SortRequest


def unusable(request: SortRequest, reply: Sorted) -> str:
    """Say what is wrong with a sorting that says there is an answer, and names no evidence that was shown."""
    if not reply.answers or any(part.evidence_ids for part in known(reply, request).sections):
        return ""
    shown = ", ".join(item.id for item in request.evidence[:3])
    return f"it names none of the evidence that was shown by its id ({shown}, …)"


def known(plan: Sorted, request: SortRequest) -> Sorted:
    """Return the sorting with the evidence that there is, each piece once a section; no section is empty.

    Sections that share an id are merged, under the first; one without an id is that of the plan with its title.
    """
    ids = {item.id for item in request.evidence}
    titles = {section.title: section.id for section in reversed(request.plan.sections)}
    parts: dict[str, SortedSection] = {}
    for part in plan.sections:
        name = part.section.id.strip() or titles.get(part.section.title) or part.section.title
        stood = parts.get(name)
        first = stood or part.model_copy(update={"section": part.section.model_copy(update={"id": name})})
        pieces = dict.fromkeys((*(stood.evidence_ids if stood else ()), *part.evidence_ids))
        length = part.length + (stood.length if stood else 0)
        own = tuple(piece for piece in pieces if piece in ids)
        parts[name] = first.model_copy(update={"evidence_ids": own, "length": length})
    return plan.model_copy(update={"sections": tuple(part for part in parts.values() if part.evidence_ids)})
