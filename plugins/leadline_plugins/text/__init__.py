"""Text by rule: index tokens, words, sentences, language. No model, no word list beyond small stop lists.

One room for it because the index, the extraction, and the checks must cut text in the same way: a token that the index
does not know can never be found, and a quote is exact only where everybody means the same sentence.
"""

from __future__ import annotations

from leadline_plugins.text.language import is_cjk, language
from leadline_plugins.text.repeats import Said
from leadline_plugins.text.sentences import sentences
from leadline_plugins.text.tokens import content_set, content_words, length, tokens, words

__all__ = ["Said", "content_set", "content_words", "is_cjk", "language", "length", "sentences", "tokens", "words"]
