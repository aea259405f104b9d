"""Text by rule: index tokens, words, sentences, language. No model, no word list beyond small stop lists.

The index, the ranking and the checks share it, so that all of them mean the same tokens and the same sentences.
"""

from __future__ import annotations

from leadline_plugins.text.language import is_cjk, language
from leadline_plugins.text.repeats import Said
from leadline_plugins.text.sentences import sentences
from leadline_plugins.text.tokens import content_set, content_words, length, tokens

__all__ = ["Said", "content_set", "content_words", "is_cjk", "language", "length", "sentences", "tokens"]
