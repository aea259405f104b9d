"""Passages: the units of evidence. Documents are cut into them, ranked and selected per key question."""

from __future__ import annotations

from leadline_plugins.passages.cut import passages_of
from leadline_plugins.passages.rank import Bm25, KeyQuestion, ranked
from leadline_plugins.passages.select import select
from leadline_plugins.passages.size import tokens_of, words_of

__all__ = ["Bm25", "KeyQuestion", "passages_of", "ranked", "select", "tokens_of", "words_of"]
