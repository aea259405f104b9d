"""Words, sentences and languages of texts, by rules and small word lists.

The index, the ranking and the checks share them, so that all use the same tokens and the same sentences.
"""

from __future__ import annotations

from leadline_plugins.text.language import is_cjk, language
from leadline_plugins.text.sentences import sentences
from leadline_plugins.text.tokens import content_set, content_words, identifiers, index_words, tokens

__all__ = ["content_set", "content_words", "identifiers", "index_words", "is_cjk", "language", "sentences", "tokens"]
