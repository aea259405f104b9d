"""English with letters that English does not have: names and loans, among words that are plainly English.

`Zürich housing prices` has no stop word, as `Wärmepumpen Kosten Altbau` has none; what is told by is the other words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from leadline_plugins.text.stopwords import STOPWORDS, word_set

_LOANS = word_set(
    """café cafés naïve naïvely naïveté résumé résumés cliché clichés clichéd façade façades fiancé fiancée protégé
    exposé déjà crème brûlée soufflé entrée entrées décor début débuts élite régime rôle touché matinée née crêpe crêpes
    château piñata jalapeño jalapeños señor señora über doppelgänger smörgåsbord coup d'état état à"""
)
"""Words that English writes with the marks of the language it has them from."""
_SPELLED = re.compile("th|gh|wh|sh|[st]ions?$|logy$|graphy$|nomy$|ics$|ness$|ship")
"""Letters that stand together in English and hardly in the other languages."""
_LEAST = 4
_FRENCH = "ÉÊ"
"""What many French words begin with, and few names: `Évolution population Paris`."""
_PLAIN = word_set(
    """vs since tips price prices cost costs population travel review reviews summary culture economy inflation history
    theory university city weather summer symphony lyrics recipe recipes movie movies book books stock company research
    study studies policy rates number news safety security energy climate explained classifier method methods disease
    housing parking training learning banking trading shopping hiking cycling effect effects side works work life death
    birth family awards best first new how symptoms"""
)
"""What is often asked for, in words that others hardly have."""
_OWN = STOPWORDS["en"].difference(*(words for code, words in STOPWORDS.items() if code != "en")) | _PLAIN | {"of", "is"}


def strange(words: Iterable[str]) -> int | None:
    """Return how many words are strange in an English text: neither names nor loans; None where it is not plainly one.

    The words are as the text has them, for a name is known by its capital.
    """
    plain, marked = False, 0
    for word in words:
        if not word.isascii():
            marked += word[0] in _FRENCH or (word.islower() and word not in _LOANS)
        elif not plain:
            plain = _english(word)
    return marked if plain else None


def _english(word: str) -> bool:
    return word.lower() in _OWN or (word.islower() and len(word) >= _LEAST and bool(_SPELLED.search(word)))
