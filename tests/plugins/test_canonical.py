from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leadline_plugins.canonical import canonical

PAGE = "https://example.org/depth/of-bay"


@pytest.mark.parametrize(
    "url",
    [
        PAGE,
        "http://example.org/depth/of-bay",
        "HTTPS://EXAMPLE.ORG/depth/of-bay",
        "https://example.org:443/depth/of-bay",
        "http://example.org:80/depth/of-bay",
        "https://example.org./depth/of-bay",
        "https://user:word@example.org/depth/of-bay",
        "https://example.org/depth/of-bay/",
        "https://example.org/depth/of-bay#results",
        "https://example.org/depth/of-bay#:~:text=fathoms",
        "https://example.org/depth/of-bay?",
        "https://example.org/depth/of-bay?utm_source=x&utm_medium=y",
        "https://example.org/depth/of-bay?fbclid=1&gclid=2&msclkid=3&dclid=4&yclid=5&ttclid=6",
        "https://example.org/depth/of-bay?mc_cid=1&_hsenc=2&mkt_tok=3&igshid=4&srsltid=5",
        "https://example.org/depth/./x/../of-bay",
        "https://example.org/depth/of%2Dbay",
        "https://example.org/depth/of-bay;jsessionid=0A1B",
        "https://example.org/depth/of-bay/index.html",
        "https://www.example.org/depth/of-bay",
        "https://m.example.org/depth/of-bay",
        "https://mobile.example.org/depth/of-bay",
        "https://amp.example.org/depth/of-bay",
        "https://example.org/depth/of-bay/amp",
        "https://example.org/depth/of-bay/amp/",
        "https://example.org/depth/of-bay.amp.html",
        "https://example.org/depth/of-bay?amp=1",
        "https://example.org/depth/of-bay?outputType=amp",
        "https://www.google.com/amp/s/www.example.org/depth/of-bay",
        "https://www.google.co.uk/amp/s/example.org/depth/of-bay/amp/",
        "https://example-org.cdn.ampproject.org/c/s/example.org/depth/of-bay",
        "  https://example.org/depth/of-bay\n",
    ],
)
def test_all_addresses_of_a_page_have_one_form(url: str) -> None:
    assert canonical(url.strip("#")) == PAGE


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://münchen.example/", "https://xn--mnchen-3ya.example"),
        ("https://例え.テスト/深さ", "https://xn--r8jz45g.xn--zckzah/%E6%B7%B1%E3%81%95"),
        ("https://en.m.wikipedia.org/wiki/Fathom", "https://en.wikipedia.org/wiki/Fathom#History"),
        ("https://example.org/a?b=2&a=1", "https://example.org/a?a=1&b=2"),
        ("https://example.org/%e6%b7%b1", "https://example.org/深"),
        ("http://[2001:DB8::1]:80/a", "https://[2001:db8::1]/a/"),
        ("https://doi.org/10.1000/ABC", "doi:10.1000/abc"),
        ("http://dx.doi.org/10.1000/abc", "doi:10.1000/abc"),
        ("https://arxiv.org/abs/1706.03762v5", "https://arxiv.org/pdf/1706.03762v5.pdf"),
        ("https://export.arxiv.org/abs/hep-th/9901001", "http://arxiv.org/pdf/hep-th/9901001"),
    ],
)
def test_these_are_the_same(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.org/a", "https://example.org/b"),
        ("https://example.org/a", "https://example.org/A"),
        ("https://example.org/a?id=1", "https://example.org/a?id=2"),
        ("https://example.org/a?source=x", "https://example.org/a"),
        ("https://example.org/#!/a", "https://example.org/#!/b"),
        ("https://example.org:8080/a", "https://example.org/a"),
        ("https://example.org/a%2Fb", "https://example.org/a/b"),
        ("https://example.org/wiki/amp", "https://example.org/wiki"),
        ("https://amp.dev/a", "https://dev/a"),
        ("https://arxiv.org/abs/1706.03762v1", "https://arxiv.org/abs/1706.03762v2"),
        ("https://google.com/amplifier/a.b", "https://a.b"),
        ("file:///papers/a.pdf", "file:///papers/b.pdf"),
    ],
)
def test_these_are_not(one: str, other: str) -> None:
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize(
    "url", ["", "a", "https://", "https://[broken", "https://x:port/", "mailto:a@b", "http://\udcff/", "HTTP://\x0c/"]
)
def test_an_address_outside_the_web_is_its_own_canonical_form(url: str) -> None:
    assert canonical(url) == url


@given(st.one_of(st.text(), st.text().map("https://example.org/{}".format), st.text().map("https://{}/".format)))
def test_anything_has_a_form_which_is_its_own_form(url: str) -> None:
    assert canonical(canonical(url)) == canonical(url)
