"""One canonical form for all addresses of a page, for comparison only, never to fetch or to cite.

Since it is only compared, it may forget more than an address could: http for https, `www`, mobile and AMP copies. The
standard library does; courlan keeps mobile and AMP hosts apart and drops parameters that
may choose the content (`source`, `keyword`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from urllib.parse import SplitResult, parse_qsl, quote, unquote_to_bytes, urlencode, urlsplit

_TRACKER = re.compile(
    r"(utm|mc|mtm|matomo|pk|piwik|hsa|vero|oly|at|itm|stm|ga)_\w+|_hs(enc|mi|fp)|__hs\w+|__s|_ga|_gl|"
    r"(fb|g|d|tw|tt|y|ys|msclk|sccl|irclick|rdt_)c?l?k?id|gbraid|wbraid|gad_\w+|gclsrc|igshid|igsh|li_fat_id|"
    r"mkt_tok|srsltid|spm|cmpid|ocid|ncid|smid|ref_src|ref_url|guccounter|guce_\w+|__twitter_impression|"
    r"phpsessid|jsessionid|aspsessionid\w*|amp|outputtype=amp",
    re.IGNORECASE,
)
_SESSION = re.compile(r";jsessionid=[^/;]*", re.IGNORECASE)
_INDEX = re.compile(r"/(index|default)\.(html?|php|aspx?)$", re.IGNORECASE)
# After a slug or a number only: an article on amplifiers may live at /wiki/amp.
_AMP_END = re.compile(r"^(?P<page>.*[-\d][^/]*?)(?:/amp|\.amp(?:\.html?)?)$")
_AMP_HOST = re.compile(r"(^|\.)google\.[a-z.]+$|\.cdn\.ampproject\.org$")
_AMP_PATH = re.compile(r"^/(?:amp|[acvwr]|mbv/s)(?P<secure>/s)?/(?P<rest>[^/]+\.[^/]+.*)$")
_DOI = re.compile(r"^(?:doi:|https?://(?:dx\.|www\.)?doi\.org/)(10\.\d{4,9}/\S+)$", re.IGNORECASE)
_ARXIV = re.compile(r"^https?://(?:\w+\.)?arxiv\.org/(?:abs|pdf|html)/([\w.-]+(?:/\d+)?(?:v\d+)?)", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[^\s\x00-\x1f\x7f]+")
_SAFE = "-._~!$&'()*+,;=:@"
# A segment with correct percent encoding.
_QUOTED = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@]*")
# First labels of hosts that serve the same pages in another layout.
_COPIES = ("www", "m", "mobile", "amp")


@lru_cache(maxsize=1 << 14)
def canonical(url: str) -> str:
    """Return the form that all addresses of a page share; an address that cannot be read is its own."""
    url = url.strip()
    if match := _DOI.match(url):
        return f"doi:{match[1].lower()}"
    if match := _ARXIV.match(url):
        return f"arxiv:{match[1].lower().removesuffix('.pdf')}"
    try:
        parts = urlsplit(url)
        return _of_web(parts) if parts.scheme in _PORTS and _HOST.fullmatch(parts.hostname or "") else url
    except ValueError:
        return url


def source_id(url: str) -> str:
    """Return the id of a source: the same for all addresses of a page, in every run."""
    return "s" + blake2b(canonical(url).encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def _of_web(parts: SplitResult) -> str:
    host, path = _host(parts.hostname or ""), _path(parts.path)
    if _AMP_HOST.search(host) and (inner := _AMP_PATH.match(path)):
        rest = f"https://{inner['rest']}" + (f"?{parts.query}" if parts.query else "")
        return _of_web(urlsplit(rest))
    port = f":{parts.port}" if parts.port and parts.port != _PORTS[parts.scheme] else ""
    query = _query(parts.query)
    route = f"#{parts.fragment}" if parts.fragment.startswith("!") else ""  # a page of its own behind one address
    return f"https://{_original(host)}{port}{path}{query}{route}"


def _host(host: str) -> str:
    """Return a host in ASCII, as the DNS has it. Raises ValueError for what cannot be one."""
    host = host.rstrip(".").lower()
    if ":" in host:
        return f"[{host}]"
    return host if host.isascii() else host.encode("idna").decode("ascii")


def _original(host: str) -> str:
    """Return the host whose copy this is: m.example.org, en.m.example.org, www.example.org."""
    labels = host.split(".")
    while len(labels) > 2 and labels[0] in _COPIES:
        labels = labels[1:]
    if len(labels) > 3 and labels[1] == "m":
        del labels[1]
    return ".".join(labels)


def _path(path: str) -> str:
    segments: list[str] = []
    for segment in _INDEX.sub("/", _SESSION.sub("", path)).split("/"):
        if segment == "..":
            segments = segments[:-1] or [""]
        elif segment != ".":
            right = _QUOTED.fullmatch(segment)
            segments.append(segment if right else quote(unquote_to_bytes(segment), safe=_SAFE))
    whole = "/".join(segments).rstrip("/")
    amp = _AMP_END.match(whole) if "amp" in whole[-9:] else None
    return amp["page"] if amp else whole


def _query(query: str) -> str:
    pairs = parse_qsl(query, keep_blank_values=True)
    kept = sorted(pair for pair in pairs if not _is_tracker(*pair))
    return f"?{urlencode(kept)}" if kept else ""


def _is_tracker(name: str, value: str) -> bool:
    return bool(_TRACKER.fullmatch(name) or _TRACKER.fullmatch(f"{name}={value}"))
