"""The words of a question that some texts lack."""

from __future__ import annotations

import re
from collections.abc import Iterable

from leadline_plugins.text.tokens import CJK, content_words

_CJK = re.compile(f"[{CJK}]")


def missing_words(question: str, texts: Iterable[str], language: str = "") -> list[str]:
    """Return the words of a question that no text has, as the question writes them."""
    have = {word for text in texts for word in content_words(text)}
    missing: list[str] = []
    for part in re.findall(r"[^\s?？。、，,;:!！()（）\"'“”「」]+", question):
        if _CJK.search(part):
            lacking = [
                not any(pair in have for pair in pairs) and bool(pairs)
                for pairs in (content_words(part[max(0, at - 1) : at + 2]) for at in range(len(part)))
            ]
            runs = "".join(sign if absent else "\n" for sign, absent in zip(part, lacking, strict=True))
            missing += [run for run in runs.split("\n") if len(run) > 1]
        elif (own := content_words(part)) and not set(own) & have:
            missing.append(part)
    return list(dict.fromkeys(missing))
