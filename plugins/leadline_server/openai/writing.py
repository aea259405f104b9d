"""What a chat shows of texts while models write them."""

from __future__ import annotations

from leadline.records import Event, Json

# Tasks whose text a message of the run tells, in a better form.
_TOLD = ("plan",)


class Draft:
    """The texts that models write for the report, one after the other; later steps may still change or drop them.

    Several are written at once: the first is told as it comes, the others once those before them have ended.
    """

    def __init__(self) -> None:
        # What has not been told of each call, in the order of their beginnings.
        self._texts: dict[str, str] = {}
        self._ended: set[str] = set()
        self._told = ""

    @property
    def is_open(self) -> bool:
        """Whether a text has been told in part."""
        return bool(self._told)

    def text(self, event: Event) -> str:
        """Return what an event adds."""
        key = str(event.data.get("key"))
        match event.kind:
            case "call.delta" if self._is_draft(event.data):
                self._texts[key] = self._texts.get(key, "") + str(event.data["said"])
            case "call.started" | "call.restart" if key in self._texts:
                self._texts[key] = "\n\n…\n\n" if key == self._told else ""
            case "call.finished" if key in self._texts:
                self._ended.add(key)
            case "run.started":  # the calls of a session that was interrupted are made again
                self._texts, self._ended = {}, set()
                return self._end()
            case _:
                return ""
        return "".join(self._next())

    def _is_draft(self, data: Json) -> bool:
        return bool(data.get("said")) and data.get("task") not in _TOLD and not data.get("answers")

    def _next(self) -> list[str]:
        texts: list[str] = []
        while self._texts:
            key, text = next(iter(self._texts.items()))
            if text:
                texts.append(text if self._told == key else f"\n\n{text.lstrip()}")
                self._texts[key], self._told = "", key
            if key not in self._ended:
                break
            del self._texts[key]
            texts.append(self._end())
        return texts

    def _end(self) -> str:
        previous, self._told = self._told, ""
        return "\n\n" if previous else ""


class Answer:
    """The answer of a run that a model writes in one call, as far as it was sent."""

    def __init__(self) -> None:
        self.sent = ""
        self._key = ""
        self._spaces = ""

    def text(self, event: Event) -> str:
        """Return what an event adds. Nothing more comes of a reply that is written a second time."""
        data = event.data
        if event.kind != "call.delta" or not data.get("answers") or not data.get("said"):
            if event.kind in ("call.started", "call.restart") and self.sent and data.get("key") == self._key:
                self._key = "void"
            return ""
        self._key = self._key or str(data["key"])
        if data["key"] != self._key:
            return ""
        text = self._spaces + str(data["said"])
        added = text.rstrip() if self.sent else text.strip()
        self._spaces = text[len(text.rstrip()) :] if self.sent or added else ""
        self.sent += added
        return added

    def rest(self, text: str) -> str:
        """Return what is still to be sent of the run's answer: all of it, after a rule, if something else was sent."""
        if text.startswith(self.sent):
            return text[len(self.sent) :]
        # Headings and marks of the model may have been set right.
        return "" if _letters(text) == _letters(self.sent) else f"\n\n---\n\n{text}"


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
