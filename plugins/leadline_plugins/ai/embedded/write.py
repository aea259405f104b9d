"""Synthesize and write: nothing is written without a model, so that the evidence brief and the sections stay as they are."""

from __future__ import annotations

from leadline_plugins.tasks.writing import Composition, SynthesizeRequest, Written, WriteRequest


def synthesize(request: SynthesizeRequest) -> Written:
    """Return no text: the section is the evidence brief of its passages."""
    return Written(text="")


def write(request: WriteRequest) -> Composition:
    """Return nothing to add to the sections."""
    return Composition()
