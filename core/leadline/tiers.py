"""Tiers of sources, by rules over their addresses: 1 primary and official, 2 reputable secondary, 3 other.

A rule is a domain with all below it (`who.int`), a suffix (`.gov`), a suffix in any country (`.ac.*`), the first name
of a host (`docs.*`), a scheme (`doi:`), or a domain with the beginning of a path (`github.com/python`). The rules of
the settings come first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Literal, cast
from urllib.parse import urlsplit

from leadline.records import Hit, SearchPage, Tier

Rules = Mapping[Literal["1", "2", "3"], Sequence[str]]
RULES: Rules = {
    "1": (
        *("doi:", "arxiv:", "urn:"),
        *(".gov", ".mil", ".edu", ".int", ".gov.*", ".gob.*", ".gouv.*", ".gub.*", ".govt.*", ".mil.*"),
        *(".ac.*", ".edu.*", ".go.jp", ".go.kr", ".go.id", ".go.th", ".gc.ca", ".gouv.fr", ".admin.ch", ".bund.de"),
        *("europa.eu", "un.org", "who.int", "worldbank.org", "imf.org", "oecd.org", "unesco.org", "ilo.org", "cern.ch"),
        *(
            "doi.org",
            "arxiv.org",
            "biorxiv.org",
            "medrxiv.org",
            "pubmed.ncbi.nlm.nih.gov",
            "europepmc.org",
            "zenodo.org",
        ),
        *("openalex.org", "crossref.org", "orcid.org", "datacite.org", "ssrn.com", "osf.io", "jstor.org"),
        *("nature.com", "science.org", "cell.com", "thelancet.com", "nejm.org", "bmj.com", "pnas.org", "plos.org"),
        *("acm.org", "ieee.org", "aclanthology.org", "openreview.net", "neurips.cc", "springer.com", "cochrane.org"),
        *("ietf.org", "rfc-editor.org", "w3.org", "whatwg.org", "iso.org", "iana.org", "unicode.org", "itu.int"),
        *("docs.*", "developer.*", "developers.*", "readthedocs.io", "readthedocs.org", "docs.rs", "pkg.go.dev"),
        *("peps.python.org", "kernel.org", "sqlite.org", "postgresql.org"),
    ),
    "2": (
        *("wikipedia.org", "wikidata.org", "britannica.com", "ourworldindata.org", "statista.com", "gapminder.org"),
        *("reuters.com", "apnews.com", "afp.com", "bbc.com", "bbc.co.uk", "economist.com", "ft.com", "bloomberg.com"),
        *("nytimes.com", "washingtonpost.com", "wsj.com", "theguardian.com", "lemonde.fr", "zeit.de", "spiegel.de"),
        *(
            "nhk.or.jp",
            "nikkei.com",
            "asahi.com",
            "scmp.com",
            "xinhuanet.com",
            "caixin.com",
            "cna.com.tw",
            "aljazeera.com",
        ),
        *(
            "scientificamerican.com",
            "newscientist.com",
            "quantamagazine.org",
            "nationalgeographic.com",
            "theconversation.com",
        ),
        *(
            "pewresearch.org",
            "brookings.edu",
            "rand.org",
            "gallup.com",
            "mckinsey.com",
            "gartner.com",
            "arstechnica.com",
        ),
        *("stackoverflow.com", "github.com", "semanticscholar.org"),
    ),
}


class Tiers:
    """The rules of one run: those of the settings, by tier, before the built-in ones."""

    def __init__(self, own: Rules) -> None:
        self._rules = [_by_rule(own), _by_rule(RULES)]
        self._with_paths = frozenset(rule.partition("/")[0] for rules in self._rules for rule in rules if "/" in rule)

    def mark(self, page: SearchPage) -> SearchPage:
        """Return the page with the tier of each hit; what no rule knows keeps its engine's."""
        return page.model_copy(update={"hits": tuple(self._marked(hit) for hit in page.hits)})

    def of(self, url: str) -> Tier | None:
        """Return the tier of an address, None where no rule knows it."""
        names = _names(url, self._with_paths)
        for rules in self._rules:
            if tier := next((rules[name] for name in names if name in rules), None):
                return tier
        return None

    def _marked(self, hit: Hit) -> Hit:
        tier = self.of(hit.url)
        return hit if tier in (None, hit.tier) else hit.model_copy(update={"tier": tier})


def _by_rule(rules: Rules) -> dict[str, Tier]:
    return {rule.strip().lower(): cast("Tier", int(tier)) for tier, some in rules.items() for rule in some}


@lru_cache(maxsize=2048)  # a hit is met by its engine, by the strategy and where pages are chosen
def _names(url: str, with_paths: frozenset[str]) -> tuple[str, ...]:
    """Return the rules that would fit an address, the most exact first; paths only for domains that have such rules."""
    return tuple(_fitting(url, with_paths))


def _fitting(url: str, with_paths: frozenset[str]) -> Iterator[str]:
    try:
        parts = urlsplit(url.strip())
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return
    if not host:
        yield f"{parts.scheme}:"
        return
    labels = host.split(".")
    for place in range(len(labels) - 1):
        domain = ".".join(labels[place:])
        if domain in with_paths:
            steps = parts.path.lower().strip("/").split("/")
            yield from (f"{domain}/{'/'.join(steps[:depth])}" for depth in range(len(steps), 0, -1))
        yield domain
    yield f"{labels[0]}.*"
    yield from (f".{'.'.join(labels[place:])}" for place in range(len(labels)))
    if len(labels[-1]) == 2:
        yield f".{labels[-2:][0]}.*"
