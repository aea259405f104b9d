"""Tiers of sources by rules on their addresses."""

from __future__ import annotations

import pytest

from leadline._runtime.runs.retrieval import SourceTiers
from leadline.records import Hit, SearchPage


@pytest.mark.parametrize(
    ("url", "tier"),
    [
        ("https://www.noaa.gov/depth", 1),
        ("https://www.gov.uk/guidance", 1),
        ("https://gov.uk", 1),
        ("https://www.ox.ac.uk/", 1),
        ("https://www.u-tokyo.ac.jp/", 1),
        ("https://anu.edu.au/x", 1),
        ("https://mit.edu", 1),
        ("https://www.who.int/data", 1),
        ("https://www.gouvernement.gouv.fr/", 1),
        ("https://soumu.go.jp/", 1),
        ("https://arxiv.org/abs/1706.03762", 1),
        ("https://doi.org/10.1000/1", 1),
        ("doi:10.1000/1", 1),
        ("https://pubmed.ncbi.nlm.nih.gov/1/", 1),
        ("https://docs.python.org/3/", 1),
        ("https://flask.readthedocs.io/en/latest/", 1),
        ("https://en.wikipedia.org/wiki/Fathom", 2),
        ("HTTPS://WWW.REUTERS.COM./a", 2),
        ("https://someone.medium.com/", None),
        ("https://notarxiv.org/", None),
        ("https://gov.example.com/", None),
        ("https://www.gov.com/", None),
        ("https://education.example/", None),
        ("https://uk/", None),
        ("file:///papers/a.pdf", None),
        ("https://[broken", None),
        ("", None),
    ],
)
def test_built_in_rules(url: str, tier: int | None) -> None:
    assert SourceTiers({}).of(url) == tier


def test_rules_of_the_settings_come_first_and_the_most_specific_wins() -> None:
    tiers = SourceTiers({"1": ("example.org/standards", ".museum"), "3": ("example.org", "arxiv.org"), "2": ("in:",)})
    urls = (
        "https://example.org/standards/1",
        "https://www.example.org/",
        "https://arxiv.org/abs/1",
        "https://a.museum/",
    )
    assert [tiers.of(url) for url in urls] == [1, 3, 3, 1]
    assert tiers.of("in:7") == 2


def test_a_hit_without_a_matching_rule_keeps_the_tier_of_its_engine() -> None:
    hits = (Hit(url="https://noaa.gov/"), Hit(url="https://shop.example/"), Hit(url="https://paper.example/", tier=1))
    assert [hit.tier for hit in SourceTiers({}).mark(SearchPage(hits=hits)).hits] == [1, 3, 1]
