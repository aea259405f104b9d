"""What models write where there is nothing to say, for `unanswered` must be a sentence to them: None, n/a, 无."""

from __future__ import annotations

import re

_NOTHING = frozenset({"none", "n/a", "na", "nothing", "null", "nil", "not applicable", "-", "—", "keine", "keines"})
_NOTHING |= {"nichts", "entfällt", "aucune", "aucun", "rien", "ninguna", "ninguno", "nada", "nessuna", "nessuno", "нет"}
_NOTHING |= {"无", "無", "没有", "沒有", "暂无", "暫無", "なし", "特になし", "ありません", "없음", "geen", "ничего"}
"""What stands for nothing where a sentence was asked for."""
_ALL = re.compile(
    r"(?:all|every)\b[^.,;:]{0,60}\b(?:questions?|aspects?|points?)\b[^.,;:]{0,60}\b(?:answered|addressed|covered)\b[^.,;:]{0,60}"
    r"|(?:the )?(?:given |provided )?passages (?:fully )?(?:answer|address|cover) (?:all|every)[^.,;:]{0,80}"
    r"|(?:所有|全部)[^，。；]{0,12}(?:问题|問題)[^，。；]{0,12}(?:回答|解答)[^，。；]{0,12}",
    re.IGNORECASE,
)
_BUT = re.compile(
    r"\b(?:not|n['’]t|no|nor|except|but|only|part(?:ly|ially)?|though|cannot|hardly|remain)\b|[不没沒未无無除]", re.I
)
"""What a sentence says that tells of no gap, unless one of these words stands in it."""


def told_gap(said: str) -> str:
    """Return what a writer says that its passages do not answer, on one line; empty where it says that of nothing."""
    line = " ".join(said.split())
    bare = line.strip(" .!。！*_()（）")
    return "" if bare.casefold() in _NOTHING or (_ALL.fullmatch(bare) and not _BUT.search(bare)) else line
