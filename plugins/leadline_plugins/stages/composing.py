"""What a composition must be to be taken: its texts whole and cited, its changes without a loss and without news."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from leadline.citations import CITATION, cited
from leadline_plugins.drafts.faults import cited_sentences, faults, letters, of_use
from leadline_plugins.tasks.writing import Composition, WriteRequest
from leadline_plugins.text import is_cjk
from leadline_plugins.text.foreign import answered_in_language

_AROUND = ("summary", "conclusion")
_LENGTH, _CJK_LENGTH = 120, 300
"""Words (Chinese, Japanese: characters) of a summary; of several times as many it is no summary."""

_IN_LANGUAGE = answered_in_language(lambda composed: (composed.summary, composed.conclusion))
_WHOLE_IN_LANGUAGE = answered_in_language(
    lambda whole: (whole.summary, whole.conclusion, *(section.text for section in whole.sections))
)


def unusable(request: WriteRequest, composed: Composition) -> str:
    """Say all that is wrong with what was written around the sections."""
    return "; ".join(filter(None, (_IN_LANGUAGE(request, composed), *_around_faults(request, composed))))


def unusable_whole(request: WriteRequest, composed: Composition) -> str:
    """Say all that is wrong with a report that was written anew."""
    ids = _ids(request)
    sections = (
        f"section {section.id}: {fault}"
        for section in composed.sections
        if section.text.strip()
        for fault in faults(section.text, ids)
    )
    around = _around_faults(request, composed)
    return "; ".join(filter(None, (_WHOLE_IN_LANGUAGE(request, composed), *around, *sections)))


def mended(request: WriteRequest, composed: Composition) -> tuple[Composition, str] | None:
    """Return a composition without what is of no use of it; None for one in another language."""
    return None if _IN_LANGUAGE(request, composed) else _of_use(request, composed)


def mended_whole(request: WriteRequest, composed: Composition) -> tuple[Composition, str] | None:
    """Return a report written anew without what is of no use of it: those sections stand."""
    if _WHOLE_IN_LANGUAGE(request, composed):
        return None
    ids = _ids(request)
    made, told = _of_use(request, composed)
    texts = {section.id: of_use(section.text, ids)[0] for section in composed.sections}
    sections = (section.model_copy(update={"text": texts[section.id]}) for section in composed.sections)
    kept = tuple(section for section in sections if section.text)
    return made.model_copy(update={"sections": kept}), told or "what of the report repeats itself stands once"


def lost(old: str, new: str, titles: Collection[str]) -> str:
    """Return why a change of a section is not taken: it loses a citation, or says what the section did not say.

    A sentence that is new cites; one that leads to another section, by its title, need not, where it has no figures.
    """
    if not set(cited(old)) <= set(cited(new)):
        return "its citations were lost"
    said = letters(old)
    for start, end in cited_sentences(new):
        sentence = new[start:end]
        own = letters(sentence)
        if own and own not in said and not CITATION.search(sentence) and not _leads_on(sentence, titles):
            return "what was added to it cites nothing"
    return ""


def _leads_on(sentence: str, titles: Collection[str]) -> bool:
    named = [title for title in titles if len(title) > 3 and title.casefold() in sentence.casefold()]
    rest = sentence.casefold()
    for title in named:
        rest = rest.replace(title.casefold(), "")
    return bool(named) and not any(char.isdigit() for char in rest)


def _ids(request: WriteRequest) -> Sequence[str]:
    return list(dict.fromkeys(name for section in request.sections for name in cited(section.text or "")))


def _around_faults(request: WriteRequest, composed: Composition) -> Iterator[str]:
    for part in _AROUND:
        for fault in _faults(request, getattr(composed, part)):
            yield f"the {part}: {fault}"


def _faults(request: WriteRequest, text: str) -> Iterator[str]:
    language = request.question.language
    return faults(text, _ids(request), asked=_asked(language), language=language) if text.strip() else iter(())


def _of_use(request: WriteRequest, composed: Composition) -> tuple[Composition, str]:
    ids, language = _ids(request), request.question.language
    texts, told = {}, []
    for part in _AROUND:
        text = getattr(composed, part)
        if any(_faults(request, text)):
            texts[part], done = of_use(text, ids, asked=_asked(language), language=language)
            told.append(f"the {part}: {done}" if texts[part] else f"the {part} was left out, for {done}")
    return composed.model_copy(update=texts), "; ".join(told)


def _asked(language: str) -> int:
    return _CJK_LENGTH if is_cjk(language) else _LENGTH
