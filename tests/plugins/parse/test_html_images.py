"""Which illustrations a page has: those of its text, in the best size, with what is said of them."""

from __future__ import annotations

import pytest

from leadline.records import Blob, Image
from leadline_plugins.parse.html import parse

TEXT = "".join(f"<p>The harbour was measured at sounding {n}, and it was deep enough for ships.</p>" for n in range(9))
SITE = "https://example.org/a/page"


def read(body: str, head: str = "") -> tuple[Image, ...]:
    page = f"<html lang=en><head><title>x</title>{head}</head><body>{body}</body></html>"
    return parse(Blob(name=SITE, media_type="text/html", data=page.encode())).images


def urls(body: str, head: str = "") -> list[str]:
    return [image.url for image in read(f"<article>{TEXT}{body}</article>", head)]


def test_a_figure_has_its_caption_and_alternative_text() -> None:
    figure = (
        "<figure><img src=../lead.jpg alt='A lead  on a line'><figcaption>A <b>lead</b>,\n1890</figcaption></figure>"
    )
    (image,) = read(f"<main>{TEXT}{figure}</main>")
    assert image == Image(url="https://example.org/lead.jpg", alt="A lead on a line", caption="A lead, 1890")


def test_a_caption_of_several_pictures_belongs_to_none() -> None:
    figure = "<figure><img src=a.jpg alt=One><img src=b.jpg title=Two><figcaption>Both</figcaption></figure>"
    assert [(image.alt, image.caption) for image in read(TEXT + figure)] == [("One", ""), ("", "Two")]


def test_the_sharing_picture_is_last_and_only_once() -> None:
    head = "<meta property=og:image content=/og.png><meta property=og:image:alt content='A harbour'>"
    assert urls("<img src=big.jpg><img src=/og.png>", head) == [
        "https://example.org/a/big.jpg",
        "https://example.org/og.png",
    ]
    assert read(TEXT, head)[0].alt == "A harbour"


@pytest.mark.parametrize(
    "image",
    [
        "<img src=x.png width=16>",
        "<img src=x.png height='50px'>",
        "<img src='data:image/png;base64,xx'>",
        "<img src=drawing.svg>",
        "<img src=favicon.ico>",
        "<img src=/assets/logo.png>",
        "<img src=/t/tracking-pixel.gif>",
        "<img src=/ads/1.jpg>",
        "<img src=//ad.doubleclick.net/1.jpg>",
        "<img src=https://www.gravatar.com/avatar/1>",
        "<img src=x.jpg class=author-avatar>",
        "<img src=x.jpg role=presentation>",
        "<div class='sidebar ad'><img src=x.jpg></div>",
        "<aside><img src=x.jpg></aside>",
        "<nav><img src=x.jpg></nav>",
        "<div hidden><img src=x.jpg></div>",
        "<img src='file:///etc/passwd'>",
        "<img src='javascript:alert(1)'>",
        "<img src='http://[broken/x.jpg'>",
        "<img>",
    ],
)
def test_pictures_of_the_site_and_unfetchable_ones_are_no_illustrations(image: str) -> None:
    assert urls(image) == []


@pytest.mark.parametrize(
    "image", ["<img src=/img/social-housing.jpg>", "<div class=leads><img src=/img/badger.jpg></div>"]
)
def test_words_that_only_hold_those_names_are_no_reason(image: str) -> None:
    assert len(urls(image)) == 1


@pytest.mark.parametrize(
    ("image", "chosen"),
    [
        ("<img src=s.jpg srcset='m.jpg 640w, l.jpg 1024w, xl.jpg 4096w'>", "l.jpg"),
        ("<img src=s.jpg srcset='m.jpg 320w, l.jpg 640w'>", "l.jpg"),
        ("<img src=s.jpg srcset='m.jpg 1.5x, l.jpg 2x'>", "l.jpg"),
        ("<img src=s.jpg srcset='/w,300/m.jpg 300w,/w,900/l.jpg 900w'>", "/w,900/l.jpg"),
        ("<img src=s.jpg srcset='nonsense'>", "s.jpg"),
        ("<img src='data:image/gif;base64,R0' data-src=real.jpg>", "real.jpg"),
    ],
)
def test_of_several_sizes_the_one_for_a_page_is_taken(image: str, chosen: str) -> None:
    (url,) = urls(image)
    assert url.endswith(chosen)


def test_a_page_of_ten_thousand_pictures_has_twenty() -> None:
    assert len(urls("".join(f"<img src={n}.jpg>" for n in range(10_000)))) == 20
