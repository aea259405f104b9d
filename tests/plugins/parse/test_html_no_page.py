"""Pages that say they are not the page are refused, in any language; short pages with content are not."""

from __future__ import annotations

import pytest

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.parse.html import parse

URL = "https://www.quays.example/dues"


def html(title: str, body: str, head: str = "") -> str:
    return f"<!doctype html><html><head><title>{title}</title>{head}</head>{body}</html>"


def read(page: str, name: str = URL) -> str:
    return parse(Blob(name=name, media_type="text/html; charset=utf-8", data=page.encode())).text


GONE = "<p>Der Kai wurde verlegt. Versuchen Sie es mit der Suche.</p>"
REFUSED = {
    "soft 404": html("Dues: Not Found", f"<body><main><h1>Not found</h1>{GONE}</main></body>"),
    "code of another language": html("Nicht da", f"<body><h1>Fehler 404</h1>{GONE}</body>"),
    "server": html(
        "Objet introuvable",
        f"<body><h1>Objet introuvable</h1><p>{'Oui. ' * 100}</p><h2>Erreur 410</h2>"
        "<address><a href='/'>www.quays.example</a></address></body>",
    ),
    "proxy": html(
        "ОШИБКА: Не найдено", f"<body id=ERR_DNS_FAIL><h1>ОШИБКА</h1><h2>Не найдено</h2><p>{'Да. ' * 150}</p>"
    ),
    "challenge": html("Un instant…", "<body><h1>quays.example</h1><p>Un moment, s'il vous plaît.</p></body>"),
    "challenge by name": html("Attendere", '<body><div class="challenge-box"><p>Verifica in corso…</p></div></body>'),
    "consent": html(
        "Quays", "<body><p>Quays</p><form><p>We and 70 partners store cookies.</p><button>All</button></form>"
    ),
    "moved": html("Dues", "<body><p>Moved.</p></body>", '<meta http-equiv=Refresh content="9; URL=/new">'),
}


@pytest.mark.parametrize("page", REFUSED.values(), ids=REFUSED)
def test_a_page_that_says_it_is_not_the_page_is_refused(page: str) -> None:
    with pytest.raises(Unsupported, match="says that it is not the page"):
        read(page)


@pytest.mark.parametrize("page", REFUSED.values(), ids=REFUSED)
def test_a_file_of_the_user_is_read_whatever_it_says(page: str) -> None:
    assert read(page, "notes.html")


FEE = "<p>The dues are 12 crowns a boat and 3 crowns a barrel.</p>"


@pytest.mark.parametrize(
    "page",
    [
        html("Dues", f"<body><h1>Dues</h1>{FEE}</body>"),
        html("Peugeot 404", f"<body><h1>Peugeot 404</h1><p>{'The car has four doors. ' * 20}</p></body>"),
        html("Quays", f'<body><h1>Dues</h1>{FEE}<div class="cookie-consent">We store cookies.</div></body>'),
        html("Quays", f"<body><h1>Dues</h1>{FEE * 3}<form><button>Search</button></form></body>"),
        html("Node.js", f"<body><h1>Node.js</h1>{FEE}</body>"),
        html("Live", f"<body>{FEE}</body>", '<meta http-equiv=refresh content="60">'),
        html(
            "404 Not Found", f"<body><h1>404 Not Found</h1>{'<p>What the code means is a long story.</p>' * 40}</body>"
        ),
    ],
)
def test_short_pages_with_content_and_long_pages_about_errors_are_read(page: str) -> None:
    assert read(page)
