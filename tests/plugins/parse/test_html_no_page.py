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


NOINDEX = '<meta name=robots content="noindex, nofollow">'
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
        "Quays", "<body><p>Quays</p><form><p>We and our partners store cookies.</p><button>All</button></form>"
    ),
    "firewall": html("Access Denied", "<body><h1>Access Denied</h1>You may not see this. Reference #18.2d</body>"),
    "check by a script": html(
        "www.quays.example/dues",
        "<body><p>Etwas stimmt nicht.</p></body>",
        '<script src="//c.example/captcha.js"></script>',
    ),
    "long consent": html(
        "Quays",
        f"<body><h1>Vos choix</h1><p>{'Nous et nos partenaires. ' * 60}</p><form><button>Oui</button></form></body>",
        NOINDEX,
    ),
    "age": html(
        "蔵元",
        "<body><h1>年齢確認</h1><p>成人ですか？</p><form><button>はい</button><button>いいえ</button></form></body>",
    ),
    "other language": html(
        "Nichts da – Kai",
        f"<body>{'<nav>' + '<a href=/x>Kai</a>' * 12}</nav><h1>Hoppla!</h1>{GONE}<a href=/>Start</a></body>",
    ),
    "login": html("Quais", "<body><h1>Entrar</h1><form>Senha <input type=password><button>Ir</button></form></body>"),
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
        html("Quays", f"<body><h1>Dues</h1>{FEE * 3}<form><input name=q><button>Search</button></form></body>"),
        html("Node.js", f"<body><h1>Node.js</h1>{FEE}</body>"),
        html("Dues", f"<body>{FEE * 8}{'<a href=/x>Quay</a> ' * 12}<button>Menu</button></body>", NOINDEX),
        html("gate", f"<body><h1>gate</h1>{FEE}<h2>See also</h2></body>"),
        html("404 Not Found explained", "<body><h1>404 Not Found</h1><p>RFC 9110 defines 404 in 15.5.5.</p></body>"),
        html("“Access denied” for me", f"<body><h1>“Access denied” for me</h1>{FEE * 5}</body>"),
        html("Limits", f"<body><h1>Limits</h1>{FEE}<pre>HTTP/1.1 429 Too Many Requests</pre></body>"),
        html("Dues", f"<body><div hidden><form>Sign in <input type=password></form></div><h1>Fees</h1>{FEE}</body>"),
        html("Quays", f"<body><h1>Dues</h1>{FEE}<p><a href=/>Home</a></p></body>"),
        html("Dues", f"<body><h1>Dues</h1>{FEE}<form>To comment: <input type=password></form></body>"),
        html("Live", f"<body>{FEE}</body>", '<meta http-equiv=refresh content="60">'),
        html(
            "404 Not Found", f"<body><h1>404 Not Found</h1>{'<p>What the code means is a long story.</p>' * 40}</body>"
        ),
    ],
)
def test_short_pages_with_content_and_long_pages_about_errors_are_read(page: str) -> None:
    assert read(page)
