"""How the emulator behaves: its latencies (seconds), and the shares of what goes wrong (0 to 1)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from emulator_web import chance

Fault = Literal["error", "limit", "malformed", "cut", ""]


@dataclass(frozen=True)
class Manners:
    """Settings of an emulator; the defaults are at once and without fault."""

    first_token: float = 0.0
    tokens_per_second: float = 0.0
    """0 is at once."""
    search: float = 0.0
    page: float = 0.0
    errors: float = 0.0
    """500s."""
    limits: float = 0.0
    """429s, of chats with Retry-After."""
    retry_after: int = 1
    malformed: float = 0.0
    """Of chats: replies that are no JSON; of searches: bodies that are cut JSON."""
    cut: float = 0.0
    """Streams that break off in the midst."""
    hanging: tuple[str, ...] = ()
    """Search engines that never answer."""
    seed: int = 0

    def fault(self, kind: str, *content: object) -> Fault:
        """Return what goes wrong with a request: always the same for the same content and attempt."""
        rolled = chance(self.seed, kind, *content).random()
        shares: tuple[tuple[Fault, float], ...] = (
            ("error", self.errors),
            ("limit", self.limits),
            ("malformed", self.malformed),
            ("cut", self.cut if kind == "chat" else 0.0),
        )
        for fault, share in shares:
            if rolled < share:
                return fault
            rolled -= share
        return ""


REALISTIC = {"first_token": 0.4, "tokens_per_second": 100, "search": 0.6, "page": 0.5}
FAULTY = {"errors": 0.10, "limits": 0.10, "malformed": 0.05, "cut": 0.02, "hanging": ("beta",)}
