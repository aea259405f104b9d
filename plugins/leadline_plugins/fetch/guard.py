"""Where requests may go: the rules for addresses of the web, and for what their names resolve to.

Pages name the addresses that are read next, so an address is hostile until shown otherwise: it could make this machine
ask its own services, the router, or the cloud's metadata. `url` judges what an address says, `addresses` what its host
resolves to; `leadline_plugins.fetch.transport` connects to exactly those, so that a second look-up cannot tell another
story. Usable by any plugin whose addresses come from outside.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Literal

from leadline.display import one_line
from leadline.errors import Denied, Unavailable

if TYPE_CHECKING:
    from httpx import URL

Rule = Literal["url", "scheme", "credentials", "port", "host", "address", "redirects", "robots", "size", "time"]
Resolve = Callable[[str, int], Awaitable[list[str]]]
PORTS = (80, 443, 8080, 8443)
# Characters; longer addresses contain data.
_LENGTH = 4096
# Characters that some programs drop, some stop at and some read as a slash.
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\\\ud800-\udfff]")
_AUTHORITY = re.compile(r"[a-z][a-z0-9+.-]*:/{2}([^/?#]*)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"^((?:[a-z][a-z0-9+.-]*:)?//)?[^/]*@", re.IGNORECASE)
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*")
# Some programs read a host that ends in a number as an address, in any notation (WHATWG URL standard).
_NUMBER = re.compile(r"(?:.*\.)?(?:\d+|0x[0-9a-f]*)")
# Names without a public site.
_INWARD = ("localhost", "local", "internal", "intranet", "home.arpa", "lan", "corp", "home", "private", "onion", "test")


class Blocked(Denied):
    """Refused by the guard or stopped at a limit; `rule` names which."""

    def __init__(self, rule: Rule, reason: str, where: str) -> None:
        super().__init__(f"{where}: {reason}")
        self.rule = rule


class Guard:
    """Checks addresses. `allow` lists exceptions: `HOST`, `HOST:PORT`, or a network such as `10.0.0.0/8`.

    An allowed host must be in the URL itself: another name that resolves to it stays blocked. An allowed network is
    open to every name that resolves into it.
    """

    def __init__(self, allow: Iterable[str] = (), ports: Iterable[int] = PORTS, resolve: Resolve | None = None) -> None:
        entries = [entry.strip().lower() for entry in allow]
        self._networks = [ip_network(entry) for entry in entries if "/" in entry]
        self._hosts = {_entry(entry) for entry in entries if "/" not in entry}
        self._ports = frozenset(ports)
        self._resolve = resolve or look_up

    def url(self, address: str) -> URL:
        """Return the URL as it will be requested, without its fragment. Raises `Blocked`."""
        import httpx

        if len(address) > _LENGTH:
            raise Blocked(
                "url", f"it is {len(address):,} characters long; at most {_LENGTH:,} are read", shown(address)
            )
        if _UNSEEN.search(address.strip(" \t\r\n")):
            raise Blocked("url", "it contains backslashes or control characters", shown(address))
        try:
            url = httpx.URL(address.strip(" \t\r\n"))
            if "#" in address or url.port in (80, 443):  # read again: without fragment and without its own port
                url = url.copy_with(fragment=None)
            self._judge(url, address)
        except (httpx.InvalidURL, UnicodeError, ValueError) as error:
            raise Blocked("url", f"this is not a URL ({error})", shown(address)) from None
        return url.copy_with(host=_bare(url)) if url.host.endswith(".") else url

    def _judge(self, url: URL, address: str) -> None:
        where, host = shown(address), _bare(url)
        if url.scheme not in ("http", "https"):
            raise Blocked("scheme", f"only http and https are allowed, not {url.scheme or 'nothing'}", where)
        authority = _AUTHORITY.match(address.strip())
        if url.userinfo or (authority and "@" in authority[1]):
            raise Blocked("credentials", "it contains a user name or password", where)
        if self._opened(host, port_of(url)):
            return
        if port_of(url) not in self._ports:
            ports = ", ".join(map(str, sorted(self._ports)))
            raise Blocked("port", f"port {port_of(url)} is not among {ports}; {_opens(host, port_of(url))}", where)
        if reason := self._shut(host):
            raise Blocked("host" if literal(host) is None else "address", reason, where)

    def _shut(self, host: str) -> str:
        """Return why a host is blocked before it is resolved; empty if it is not."""
        if address := literal(host):
            return self._private(address)
        if _NUMBER.fullmatch(host):
            return "this is an IP address in an unusual spelling"
        if not _NAME.fullmatch(host) or len(host) > 253:
            return "it has no readable host"
        if "." not in host or any(host == name or host.endswith("." + name) for name in _INWARD):
            return f"{host} is a name of local networks; {_opens(host)}"
        return ""

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses to connect to. Raises `Blocked` if one is blocked, `Unavailable` if there are none."""
        bare = host.lower().removesuffix(".")
        where = f"{bare}:{port}"
        if literal(bare) is None and not self._opened(bare, port) and (reason := self._shut(bare)):
            raise Blocked("host", reason, where)
        addresses = [bare] if literal(bare) else await self._looked_up(bare, port)
        if not self._opened(bare, port):
            for text in addresses:
                address = literal(text)
                if reason := self._private(address) if address else "resolves to no address":
                    raise Blocked("address", reason, where)
        return addresses

    async def _looked_up(self, host: str, port: int) -> list[str]:
        try:
            addresses = list(dict.fromkeys(await self._resolve(host, port)))
        except (OSError, UnicodeError) as error:
            raise Unavailable(f"{host}: the host name cannot be resolved ({error})") from error
        if not addresses:
            raise Unavailable(f"{host}: the name has no address")
        return addresses

    def _private(self, address: Address) -> str:
        kind = kind_of(address)
        if not kind or any(address in network for network in self._networks):
            return ""
        return f"{address} is {kind}; {_opens(str(address))}"

    def _opened(self, host: str, port: int) -> bool:
        return (host, None) in self._hosts or (host, port) in self._hosts


async def look_up(host: str, port: int) -> list[str]:
    """Resolve a name by the system's resolver, in its order of preference."""
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in infos]


def shown(address: str) -> str:
    """Return a URL for messages and logs: short, without credentials, query and fragment."""
    url = re.split(r"[?#]", address, maxsplit=1)[0]
    url = _CREDENTIALS.sub(r"\1", url)
    return one_line(url[:200]) + ("?…" if "?" in address else "")


def checked(entry: str) -> str:
    """Return an entry of an allow list. Raises `ValueError` if it is malformed."""
    if "/" in entry:
        ip_network(entry.strip())
    elif not _entry(entry.strip().lower())[0]:
        raise ValueError(f"{entry!r}: write HOST, HOST:PORT or a network as 10.0.0.0/8")
    return entry


def _entry(entry: str) -> tuple[str, int | None]:
    """Return host and port of an entry; IPv6 with a port is written `[::1]:8000`."""
    if literal(entry.strip("[]")):
        return entry.strip("[]"), None
    host, colon, port = entry.rpartition(":")
    return (host.strip("[]"), int(port)) if colon else (entry, None)


def _bare(url: URL) -> str:
    """Return the host as it is resolved: punycode, lower case, without a final dot."""
    return url.raw_host.decode("ascii").lower().strip("[]").removesuffix(".")


def port_of(url: URL) -> int:
    """Return the port of a URL; without one, that of its scheme."""
    return url.port if url.port is not None else {"https": 443}.get(url.scheme, 80)


def _opens(host: str, port: int | None = None) -> str:
    entry = host if port is None else f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f'to allow it, add "{entry}" to the setting allow'


Address = IPv4Address | IPv6Address

_KINDS = tuple(
    (ip_network(network), kind)
    for network, kind in (
        ("0.0.0.0/8", "this host"),
        ("10.0.0.0/8", "private"),
        ("100.100.100.200/32", "cloud metadata"),
        ("100.64.0.0/10", "shared by a carrier (CGNAT)"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud metadata"),  # of Azure, and public by its number
        ("169.254.169.254/32", "cloud metadata"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.192/32", "cloud metadata"),
        ("192.0.0.0/24", "reserved"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "a 6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("::/128", "this host"),
        ("::1/128", "loopback"),
        ("::ffff:0:0/96", "an IPv4 address written as IPv6"),
        ("::/96", "an IPv4 address written as IPv6"),
        ("::ffff:0:0:0/96", "an IPv4 address written as IPv6"),
        ("64:ff9b:1::/48", "a local NAT64 prefix"),
        ("100::/64", "discarded"),
        ("2001::/32", "a Teredo tunnel"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a 6to4 tunnel"),
        ("3fff::/20", "for documentation"),
        ("5f00::/16", "reserved"),
        ("fd00:ec2::254/128", "cloud metadata"),
        ("fd20:ce::254/128", "cloud metadata"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
    )
)
_NAT64 = ip_network("64:ff9b::/96")


def kind_of(address: Address) -> str:
    """Return the kind of an address that is not public; empty for a public one.

    An address of the well-known NAT64 prefix has the kind of the IPv4 address in it, because networks without IPv4 use
    it for all IPv4 hosts.
    """
    if address in _NAT64:
        return kind_of(IPv4Address(int(address) & 0xFFFFFFFF))
    for network, kind in _KINDS:
        if address in network:
            return kind
    return "" if address.is_global and not (address.is_multicast or address.is_reserved) else "not public"


def literal(host: str) -> Address | None:
    """Return the address of a host in canonical notation; None for a name, or an address with a zone."""
    try:
        return ip_address(host) if "%" not in host else None
    except ValueError:
        return None
