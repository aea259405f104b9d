"""The nearest of some names, for errors that tell a typo what it meant."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, choices: Iterable[str]) -> str:
    """Return the choice most like `word`, or the empty string where none is close."""
    from difflib import get_close_matches  # only on the way to an error

    return next(iter(get_close_matches(word, sorted(choices), n=1, cutoff=0.6)), "")


def choose_from(word: str, choices: Iterable[str]) -> str:
    """Return the end of an error's sentence: the nearest choice, and all of them."""
    names = sorted(choices)
    near = nearest(word, names)
    listed = f"choose from: {', '.join(names)}" if names else "there is nothing to choose from"
    return f"did you mean {near!r}? ({listed})" if near else listed
