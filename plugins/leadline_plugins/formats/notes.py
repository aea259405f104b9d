"""What a run did with less, as its report tells it: in the order of a run, all of one reason at once, in its language.

Nothing here hangs on when something was told: sections are written side by side, and a run that is resumed or replayed
tells the same in another order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from leadline.printable import by_reason
from leadline.records import Report
from leadline_plugins.wording import say
from leadline_plugins.wording.notices import keys, parsed, retold, task

_STOPS = " .。;；,，"
_WHOSE = re.compile(r"\b(?:task|chat) by ([^\s:]+): the model's reply")
_TOLD = {"left_out": "left_out", "open": "unanswered"}
"""The notices that say what the facts of a report say, and under what name they do."""


@dataclass(frozen=True)
class _Notice:
    text: str
    key: str
    parts: Mapping[str, str]


class Notes:
    """The notices of a report."""

    def __init__(self, report: Report) -> None:
        self._language = report.language
        found: Any = report.metadata.get("method") or {}
        self._facts: Mapping[str, Any] = found
        titles = {section.title: place for place, section in enumerate(report.sections)}
        order = {key: place for place, key in enumerate(keys())}

        def place(one: _Notice) -> tuple[int, int, str]:
            return order.get(one.key, len(order)), titles.get(one.parts.get("title", ""), len(titles)), one.text

        self._notices = sorted((_Notice(text, *parsed(text)) for text in self._facts.get("notices", ())), key=place)

    def told(self) -> tuple[list[str], list[str]]:
        """Return those that have words in the report's language, and the others."""
        news = list(self._news())
        if not say("notices", self._language):
            return [_sentence(text, ".") for text in by_reason(map(_plain, news))], []
        ours = by_reason(filter(None, (retold(one.text, self._language) for one in news)))
        english = by_reason(_plain(one) for one in news if not retold(one.text, self._language))
        return [_sentence(text, say("stop", self._language)) for text in ours], [_sentence(one, ".") for one in english]

    def _news(self) -> Iterator[_Notice]:
        """Yield the notices but for those that say what is said as a fact."""
        known = tuple(said.strip(_STOPS) for said in self._facts.get("assumptions", ()))
        for one in self._notices:
            if not any(said in one.text for said in known) and not self._facts.get(_TOLD.get(one.key, "")):
                yield one


def _plain(notice: _Notice) -> str:
    """Return a notice in English without what only those know who read the code: names of tasks, whose call it was."""
    name = notice.parts.get("task", "")
    text = task(name, "en") + notice.text.removeprefix(name) if name else notice.text
    return _WHOSE.sub(r"the reply of \1", text).replace(".;", ";")


def _sentence(notice: str, stop: str) -> str:
    return f"{notice[:1].upper()}{notice[1:].rstrip(_STOPS)}{stop}"
