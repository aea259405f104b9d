"""Which passages may stand as quotes in place of a text: those of pages that name what the question names.

A writer is shown more than it uses, and leaves out what is beside the point. Where no text comes, readers see what
stands there instead: a page that shares but common words with a question that names something is noise. To choose by
all words of the question once more keeps such a page, and loses what answers in other words.
"""

from __future__ import annotations

from collections.abc import Iterable

from leadline.records import Evidence, Source
from leadline_plugins.checks.naming import proper_names
from leadline_plugins.text.tokens import has_cjk

_SHORT = 3
"""Letters of a word of a name that is looked for: shorter ones stand within others."""


def naming(question: str, evidence: Iterable[Evidence], sources: Iterable[Source]) -> frozenset[str]:
    """Return the ids of the passages whose source has a word of a name in the question; of all where none has.

    A page in another script may call it otherwise: its passages stay. What joins the words of a name is none of them.
    """
    ids = {item.id: item.source_id for item in evidence}
    words = [
        word for name in proper_names(question) for word in name.split() if len(word) >= _SHORT and not word.islower()
    ]
    pages = {source.id: f"{source.hit.title}\n{source.document.text}" for source in sources}
    named = {name for name, page in pages.items() if any(word in page for word in words)}
    strange = {name for name, page in pages.items() if has_cjk(page) != has_cjk(question)}
    kept = frozenset(name for name, source in ids.items() if source in named | strange or source not in pages)
    return kept if named else frozenset(ids)
