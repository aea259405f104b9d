"""The emulator's web: what a query finds, and pages of plain prose full of figures; all made of the address alone."""

from __future__ import annotations

import html
import random
from collections.abc import Iterator
from hashlib import blake2b
from urllib.parse import quote, unquote

HITS = 10
HOSTS = tuple(f"127.0.0.{number}" for number in range(1, 13))
"""All of them this machine: pages come from several sites, as on the web."""
PARAGRAPHS, SENTENCES = 8, 6
_KINDS = ("survey", "audit", "trial", "census", "inquiry", "review", "forecast", "inventory", "panel", "field study")
_BODIES = ("harbour board", "ministry", "institute", "university", "agency", "chamber", "observatory", "consortium")
_DID = ("reported", "measured", "estimated", "recorded", "projected", "documented", "observed", "calculated")
_MOVED = ("rose to", "fell to", "settled at", "climbed past", "held at", "dropped below", "doubled to", "averaged")
_UNITS = ("tonnes", "per cent", "metres", "million euros", "megawatts", "vessels", "hectares", "jobs", "days")
_PLACES = ("Rotterdam", "Osaka", "Lagos", "Antwerp", "Lima", "Busan", "Gdansk", "Durban", "Oslo", "Manila", "Quito")
_WHY = ("subsidies", "storms", "new regulation", "automation", "drought", "shortages", "tariffs", "retrofits", "grants")


def chance(*parts: object) -> random.Random:
    """Return chance that is the same for the same parts, in every process."""
    text = "\x1f".join(map(str, parts))
    return random.Random(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()))


def hits(query: str, engine: str, port: int) -> list[dict[str, str]]:
    """Return what an engine finds: pages on several hosts, a few of them found by every engine."""
    found = []
    for rank in range(HITS):
        own = engine if rank % 3 else "all"
        host = HOSTS[1 + chance(query, own, rank).randrange(len(HOSTS) - 1)]
        url = f"http://{host}:{port}/page/{own}/{rank}/{quote(query, safe='')}"
        found.append({"url": url, "title": title(query, own, rank), "snippet": f"What is known of {query}."})
    return found


def title(query: str, engine: str, rank: int) -> str:
    """Return the title of a page."""
    dice = chance("title", query, engine, rank)
    return f"{query[:60]}: {dice.choice(_KINDS)} of the {dice.choice(_PLACES)} {dice.choice(_BODIES)}"


def page(path: str) -> str:
    """Return the page at a path as HTML."""
    _, _, engine, rank, query = path.split("/", 4)
    asked = unquote(query)
    name = html.escape(title(asked, engine, int(rank)))
    prose = "".join(f"<p>{html.escape(' '.join(part))}</p>\n" for part in paragraphs(asked, engine, rank))
    links = "".join(f'<li><a href="/page/x/{n}/more">Related reading {n}</a></li>' for n in range(20))
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{name}</title></head><body>"
        f"<nav><ul>{links}</ul></nav><main><article><h1>{name}</h1>\n{prose}</article></main>"
        f"<footer><ul>{links}</ul></footer></body></html>"
    )


def paragraphs(query: str, engine: str, rank: str) -> Iterator[list[str]]:
    """Yield paragraphs, each a few sentences that speak of the query."""
    dice = chance("page", query, engine, rank)
    words = [word for word in query.split() if len(word) > 3] or [query]
    for _ in range(PARAGRAPHS):
        yield [_sentence(dice, dice.sample(words, min(3, len(words)))) for _ in range(SENTENCES)]


def _sentence(dice: random.Random, words: list[str]) -> str:
    return (
        f"In {dice.randint(1990, 2026)} the {dice.choice(_PLACES)} {dice.choice(_BODIES)} {dice.choice(_DID)} in its "
        f"{dice.choice(_KINDS)} that {' '.join(words)} {dice.choice(_MOVED)} {dice.randint(11, 9999) / 10:g} "
        f"{dice.choice(_UNITS)}, which it put down to {dice.choice(_WHY)} and {dice.choice(_WHY)}."
    )
