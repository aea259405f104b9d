"""What is taken of a composition: texts that are whole and cite, changes of sections without a loss or news."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from leadline.citations import CITATION, CITATIONS, cited, cited_only
from leadline.records import Evidence, Section
from leadline_plugins import drafts
from leadline_plugins.checks.naming import missing_names
from leadline_plugins.drafts.blocks import BLANK
from leadline_plugins.drafts.faults import faults, of_use
from leadline_plugins.drafts.statements import cited_sentences, letters
from leadline_plugins.tasks.writing import ChangedSection, Composition, WriteRequest
from leadline_plugins.text import is_cjk
from leadline_plugins.text.foreign import answered_in_language, strays

_AROUND = ("summary", "conclusion")
_LENGTH, _CJK_LENGTH = 120, 300
"""Words (Chinese, Japanese: characters) of a summary; of several times as many it is no summary."""
_ALSO_CALLED = {
    "summary": (
        "executive summary",
        "abstract",
        "key findings",
        "Zusammenfassung",
        "résumé",
        "resumen",
        "摘要",
        "要約",
    ),
    "conclusion": ("conclusions", "Fazit", "Schluss", "conclusión", "结论", "結論", "まとめ"),
}
"""Titles that models give to what stands around the sections, which has one already."""
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")

_IN_LANGUAGE = answered_in_language(lambda composed: (composed.summary, composed.conclusion))
_WHOLE_IN_LANGUAGE = answered_in_language(
    lambda whole: (whole.summary, whole.conclusion, *(section.text for section in whole.sections))
)


def unusable(request: WriteRequest, composed: Composition) -> str:
    """Say all that is wrong with what was written around the sections."""
    stray = _IN_LANGUAGE(request, composed) or strays((composed.summary, composed.conclusion), request.question)
    return "; ".join(filter(None, (stray, *_around_faults(request, composed))))


def unusable_whole(request: WriteRequest, composed: Composition) -> str:
    """Say all that is wrong with a report that was written anew."""
    known = _standing(request)
    sections = (
        f"section {section.id}: {fault}"
        for section in composed.sections
        if section.text.strip()
        for fault in faults(section.text, known)
    )
    around = _around_faults(request, composed)
    texts = (composed.summary, composed.conclusion, *(section.text for section in composed.sections))
    stray = _WHOLE_IN_LANGUAGE(request, composed) or strays(texts, request.question)
    return "; ".join(filter(None, (stray, *around, *sections)))


def mended(request: WriteRequest, composed: Composition) -> tuple[Composition, str] | None:
    """Return a composition without what is of no use of it; None for one in another language."""
    return None if _IN_LANGUAGE(request, composed) else _of_use(request, composed)


def mended_whole(request: WriteRequest, composed: Composition) -> tuple[Composition, str] | None:
    """Return a report written anew without what is of no use of it: those sections stand."""
    if _WHOLE_IN_LANGUAGE(request, composed):
        return None
    known = _standing(request)
    made, told = _of_use(request, composed)
    texts = {section.id: of_use(section.text, known)[0] for section in composed.sections}
    sections = (section.model_copy(update={"text": texts[section.id]}) for section in composed.sections)
    kept = tuple(section for section in sections if section.text)
    less = any(texts[section.id] != section.text.strip() for section in composed.sections)
    told = told or ("what of the report repeats itself stands once" if less else "")
    return made.model_copy(update={"sections": kept}), told


@dataclass(frozen=True)
class Taken:
    """What is taken of a composition, and what is to be told of the rest."""

    composition: Composition
    told: tuple[str, ...] = ()


def taken(
    composed: Composition, stand: Iterable[Section], read: Callable[[str, str], drafts.Draft], *, anew: bool = False
) -> Taken:
    """Return a composition as it is taken: texts that cite, and changes of sections that lose nothing.

    `read` makes a text that of a section, by its title. Where all was written `anew`, a section may say less than
    before, for another says it; one that cites nothing, or did not come back, stands as it was.
    """
    around = {part: read(getattr(composed, part), part) for part in _AROUND}
    texts = {part: draft.text if cited(draft.text) else "" for part, draft in around.items()}
    told = [
        f"the {part} was left out, for it cited nothing"
        for part, text in texts.items()
        if getattr(composed, part).strip() and not text
    ]
    standing = {section.id: section for section in stand}
    changed: dict[str, ChangedSection] = {}
    less = [drafts.left_out(part, (draft,)) for part, draft in around.items() if texts[part]]
    for section in composed.sections:
        old = standing.get(section.id)
        if old is None or not section.text.strip():
            continue
        draft = read(section.text, old.title)
        text = draft.text
        if why := _refused(old, text, standing.values(), anew=anew):
            text = "" if anew else _in_part(old, text, standing.values())
            if not text:
                told += [] if anew else [f"section '{old.title}' stands as it was, for {why} when it was changed"]
                continue
            told.append(f"section '{old.title}' stands in part as it was, for {why} when it was changed")
        changed[old.id] = ChangedSection(id=old.id, title=drafts.title(section.title) or old.title, text=text)
        less.append(drafts.left_out(old.title, (draft,)))
    if anew and (same := [f"'{old.title}'" for old in standing.values() if old.id not in changed]):
        told.append(f"what was written anew lacks {', '.join(same)}, or the citations there: as first written")
    told += filter(None, less)
    return Taken(composed.model_copy(update={"sections": tuple(changed.values()), **texts}), tuple(told))


def drafted(evidence: Collection[Evidence]) -> Callable[[str, str], drafts.Draft]:
    """Return what reads the texts of a model."""
    known = drafts.Known.of_evidence(evidence)
    return lambda text, title: drafts.normalised(text, known, (title, *_ALSO_CALLED.get(title, ())))


def known(evidence: Iterable[Evidence]) -> Callable[[str, str], drafts.Draft]:
    """Return what reads the texts of an algorithm, which stand as they are; only what they cite must be there."""
    ids = {item.id for item in evidence}
    return lambda text, title: drafts.Draft(cited_only(text, ids).strip())


def _refused(old: Section, text: str, standing: Collection[Section], *, anew: bool) -> str:
    """Return why a section is not taken as it was changed, or written anew; empty where it is."""
    if anew:
        return "" if cited(text) else "it cites nothing"
    others = [one.text or "" for one in standing if one is not old]
    return lost(old.text or "", text, [one.title for one in standing], others)


def _in_part(old: Section, text: str, standing: Collection[Section]) -> str:
    """Return a section with those of its paragraphs changed that lose nothing by it; empty where there are none.

    Each stands in the place of the one that it changes, and cites the same: what was moved would be said twice.
    """
    before, after = (BLANK.split(one)[::2] for one in (old.text or "", text))
    if len(before) != len(after):
        return ""
    titles = [one.title for one in standing]
    pairs = zip(before, after, strict=True)
    made = [new if set(cited(new)) == set(cited(was)) and not lost(was, new, titles) else was for was, new in pairs]
    return "" if made == before else "\n\n".join(made)


def lost(old: str, new: str, titles: Collection[str], others: Iterable[str] = ()) -> str:
    """Return why a change of a section is not taken: it loses something, or says what the section did not say.

    A figure or a name may go where it stands in one of the `others`, the texts of the other sections. A new sentence
    cites; one that leads to another section, by its title, need not, where it has no figures.
    """
    if not set(cited(old)) <= set(cited(new)):
        return "its citations were lost"
    rest = "\n".join((CITATIONS.sub("", new), *others))
    if gone := [*_figures(old, rest), *missing_names(CITATIONS.sub("", old), rest)]:
        return f"it lacked what stands there of {gone[0]}"
    said = letters(old)
    for start, end in cited_sentences(new):
        sentence = new[start:end]
        own = letters(sentence)
        if own and own not in said and not CITATION.search(sentence) and not _leads_on(sentence, titles):
            return "what was added to it cites nothing"
    return ""


def _figures(old: str, rest: str) -> list[str]:
    """Return the figures of a text that another lacks."""
    held = frozenset(_FIGURE.findall(rest))
    return [figure for figure in _FIGURE.findall(CITATIONS.sub("", old)) if figure not in held]


def _leads_on(sentence: str, titles: Collection[str]) -> bool:
    named = [title for title in titles if len(title) > 3 and title.casefold() in sentence.casefold()]
    rest = sentence.casefold()
    for title in named:
        rest = rest.replace(title.casefold(), "")
    return bool(named) and not any(char.isdigit() for char in rest)


def _standing(request: WriteRequest) -> drafts.Known:
    return drafts.Known.of(name for section in request.sections for name in cited(section.text or ""))


def _around_faults(request: WriteRequest, composed: Composition) -> Iterator[str]:
    for part in _AROUND:
        for fault in _faults(request, getattr(composed, part)):
            yield f"the {part}: {fault}"


def _faults(request: WriteRequest, text: str) -> Iterator[str]:
    language = request.question.language
    return faults(text, _standing(request), asked=_asked(language), language=language) if text.strip() else iter(())


def _of_use(request: WriteRequest, composed: Composition) -> tuple[Composition, str]:
    known, language = _standing(request), request.question.language
    texts, told = {}, []
    for part in _AROUND:
        text = getattr(composed, part)
        if any(_faults(request, text)):
            texts[part], done = of_use(text, known, asked=_asked(language), language=language)
            if not texts[part]:
                told.append(f"the {part} was left out, for {done}")
            elif done:
                told.append(f"the {part}: {done}")
    return composed.model_copy(update=texts), "; ".join(told)


def _asked(language: str) -> int:
    return _CJK_LENGTH if is_cjk(language) else _LENGTH
