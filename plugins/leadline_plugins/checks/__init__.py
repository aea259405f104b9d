"""Checks of citations: whether a quote stands in its source, and whether a passage bears a claim.

A room of its own because the pipeline's stage and `leadline verify` must judge alike.
"""

from __future__ import annotations
