"""Synthesize: a section is its passages, quoted."""

from __future__ import annotations

from leadline_plugins.synthesizers.extractive import quoted
from leadline_plugins.tasks.writing import SynthesizeRequest, Written
from leadline_plugins.text import language


def synthesize(request: SynthesizeRequest) -> Written:
    """Set the passages of a section as its text."""
    code = request.question.language or language(request.question.text)
    return Written(text=quoted(request.passages, request.length, code))
