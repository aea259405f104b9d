"""The last texts that were written, by key: what is asked for again soon is not read from the disk and checked anew."""

from __future__ import annotations


class Recent:
    """Texts of so many bytes together; the first that came goes first, and what is larger than all is not held."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._texts: dict[str, bytes] = {}

    def get(self, key: str) -> bytes | None:
        """Return the text of a key, None where it is not held."""
        return self._texts.get(key)

    def put(self, key: str, text: bytes) -> None:
        """Hold a text in place of the one before."""
        self.drop(key)
        self._texts[key] = text
        self._left -= len(text)
        while self._left < 0:
            self.drop(next(iter(self._texts)))

    def drop(self, key: str) -> None:
        """Hold the text of this key no longer."""
        self._left += len(self._texts.pop(key, b""))
