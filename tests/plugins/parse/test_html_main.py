"""Which part of a page is read."""

from __future__ import annotations

import pytest

from leadline.records import Blob
from leadline_plugins.parse.html import parse

LINES = [f"Line {n}: the lead line sounds the depth under the keel of a ship, and more." for n in range(9)]
BODY = "".join(f"<p>{line}</p>" for line in LINES)
MORE = "Some other words of the site, long enough to be taken for a paragraph of the text by its length."


def read(body: str) -> str:
    page = f"<html><body>{body}</body></html>"
    return parse(Blob(name="page.html", media_type="text/html", data=page.encode())).text


@pytest.mark.parametrize(
    "part",
    [
        f"<nav>{MORE}</nav>",
        f"<footer><p>{MORE}</p></footer>",
        f"<div role=navigation>{MORE}</div>",
        f"<aside><p>{MORE}</p></aside>",
        f"<div class='site comments'><p>{MORE}</p></div>",
        f"<div id=commentsContainer><p>{MORE}</p></div>",
        f"<div class=newsletter-box><p>{MORE}</p></div>",
        "<div class=sidebar><p>Follow us</p></div>",
        "<ul>" + "".join(f"<li><a href=/{n}>Another page {n}</a></li>" for n in range(5)) + "</ul>",
        "".join(f"<h3><a href=/{n}>Story {n}</a></h3><p>Some other words.</p>" for n in range(3)),
        "<ul>" + "".join(f"<li><h3><a href=/{n}>Story</a></h3><p>{MORE}</p>" for n in range(3)) + "</ul>",
    ],
)
def test_boilerplate_around_the_text_is_left_out(part: str) -> None:
    assert read(f"<div>{BODY}</div>{part}") == "\n\n".join(LINES)


@pytest.mark.parametrize(
    "part",
    [
        f"<div class=sidebar><p>{MORE} {MORE}</p></div>",
        f"<aside class=note><p>{MORE} {MORE}</p></aside>",
        f"<div class=has-comments><p>{MORE}</p></div>",
        f"<div id=what-comments-are-for><p>{MORE}</p></div>",
        f"<div class=toc><p>{MORE} {MORE}</p></div>",
    ],
)
def test_names_that_mean_several_things_do_not_decide_alone(part: str) -> None:
    assert MORE in read(f"<div>{BODY}{part}</div>")


def test_a_list_of_links_stays_after_a_colon() -> None:
    links = "<ul>" + "".join(f"<li><a href=/{n}>Command {n}</a></li>" for n in range(5)) + "</ul>"
    assert "- Command 4" in read(f"{BODY}<p>The commands are:</p>{links}")


def test_the_title_before_the_main_part_is_kept() -> None:
    assert read(f"<div><h1>Soundings</h1></div><main>{BODY}</main>").startswith("# Soundings\n\nLine 0")


def test_most_of_a_page_is_never_boilerplate() -> None:
    assert read(f"<div class=comments>{BODY}</div>").startswith("Line 0")


@pytest.mark.parametrize("before", [f"<p>{MORE}</p>", "<div class=sect><p>Short.</p></div>"])
def test_an_introduction_of_the_largest_part_is_kept(before: str) -> None:
    assert len(read(f"<div>{before}<div class=sect>{BODY * 3}</div></div>").split("\n\n")) > len(LINES)


def test_a_heading_without_text_is_removed() -> None:
    assert "Related" not in read(f"{BODY}<h2>Related pages</h2><ul><li><a href=/x>A page</a><li><a href=/y>B</a></ul>")


def test_a_caption_that_a_gallery_repeats_is_read_once() -> None:
    assert read(f"{BODY}<p>{MORE}</p><p>{MORE}</p><p>{MORE}</p>").count(MORE) == 1


def test_the_authors_and_copyright_of_a_title_page_are_text_and_no_headings() -> None:
    notice = "<p class=copyright>Copyright 2001 Ann Sea</p>"
    title = (
        f"<div class=titlepage><h1>Depths</h1><h3 class=AUTHOR>Ann Sea</h3><h3 class=author>Bo Lee</h3>{notice}</div>"
    )
    text = read(f"<div class=book>{title}{BODY}</div>")
    assert text.startswith("# Depths\n\nAnn Sea\n\nBo Lee\n\nCopyright 2001 Ann Sea\n\nLine 0")
    assert "Copyright" not in read(f"<h1>Depths</h1>{BODY}<div>{notice}</div>")
