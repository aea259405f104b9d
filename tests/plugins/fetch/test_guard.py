"""Hostile addresses, one by one: each refused without a connection, under the rule that is meant for it."""

from __future__ import annotations

import socket
from collections.abc import Sequence

import pytest

from leadline.errors import Unavailable
from leadline_plugins.fetch.guard import Blocked, Guard, checked, shown

REFUSED = [
    # no pages at all
    ("scheme", "file:///etc/passwd"),
    ("scheme", "ftp://example.org/"),
    ("scheme", "gopher://example.org:80/_GET"),
    ("scheme", "data:text/html,<p>x"),
    ("scheme", "javascript:alert(1)"),
    ("scheme", "unix:///var/run/docker.sock"),
    ("scheme", "//example.org/"),
    ("scheme", ""),
    # two readings
    ("url", "http://example.org\\@127.0.0.1/"),
    ("host", "http://exa mple.org/"),
    ("url", "http://example.org/\r\nHost: 127.0.0.1"),
    ("url", "http://example.org\t.evil.org/"),
    ("url", "http://exam\u200bple.org/"),
    ("url", "http://example.org/" + "a" * 5000),
    ("url", "http://[::1"),
    ("port", "http://example.org:99999/"),
    ("url", "http://example.org:8o80/"),
    ("host", "http:///etc/passwd"),
    ("host", "http://%6c%6f%63alhost/"),
    ("host", "http://example..org/"),
    ("host", "http://-.org/"),
    # credentials
    ("credentials", "http://user:secret@example.org/"),
    ("credentials", "http://example.org@127.0.0.1/"),
    ("credentials", "http://@example.org/"),
    # ports
    ("port", "http://example.org:22/"),
    ("port", "http://example.org:6379/"),
    ("port", "https://example.org:2375/"),
    ("port", "http://example.org:0/"),
    # addresses
    ("address", "http://127.0.0.1/"),
    ("address", "http://127.255.255.254/"),
    ("address", "http://127.0.0.1./"),
    ("address", "http://0.0.0.0/"),
    ("address", "http://10.1.2.3/"),
    ("address", "http://172.16.0.1/"),
    ("address", "http://192.168.1.1/"),
    ("address", "http://100.64.0.1/"),
    ("address", "http://169.254.0.1/"),
    ("address", "http://169.254.169.254/latest/meta-data/"),
    ("address", "http://168.63.129.16/machine"),
    ("address", "http://100.100.100.200/"),
    ("address", "http://192.0.0.192/opc/v1/"),
    ("address", "http://192.0.2.1/"),
    ("address", "http://198.18.0.1/"),
    ("address", "http://224.0.0.1/"),
    ("address", "http://240.0.0.1/"),
    ("address", "http://255.255.255.255/"),
    # addresses of the new kind, and the old ones within them
    ("address", "http://[::1]/"),
    ("address", "http://[::]/"),
    ("address", "http://[0:0:0:0:0:0:0:1]/"),
    ("address", "http://[::ffff:127.0.0.1]/"),
    ("address", "http://[::ffff:7f00:1]/"),
    ("address", "http://[::127.0.0.1]/"),
    ("address", "http://[64:ff9b::7f00:1]/"),
    ("address", "http://[64:ff9b::a9fe:a9fe]/"),
    ("address", "http://[64:ff9b:1::1]/"),
    ("address", "http://[2002:7f00:1::]/"),
    ("address", "http://[2001:0:7f00:1::]/"),
    ("address", "http://[2001:db8::1]/"),
    ("address", "http://[fc00::1]/"),
    ("address", "http://[fd00:ec2::254]/"),
    ("address", "http://[fe80::1]/"),
    ("address", "http://[fec0::1]/"),
    ("address", "http://[ff02::1]/"),
    ("host", "http://[fe80::1%25eth0]/"),
    ("host", "http://[2606:2800:220:1::1%25lo]/"),
    # unusual spellings of 127.0.0.1
    ("host", "http://2130706433/"),
    ("host", "http://0x7f000001/"),
    ("host", "http://0x7f.0x0.0x0.0x1/"),
    ("url", "http://0177.0.0.1/"),
    ("host", "http://127.1/"),
    ("host", "http://127.0.1/"),
    ("host", "http://127.0.0.1.0/"),
    ("host", "http://1e100.0x/"),
    ("address", "http://127。0。0。1/"),
    # names of local networks
    ("host", "http://localhost/"),
    ("host", "http://LOCALHOST./"),
    ("host", "http://a.localhost/"),
    ("host", "http://printer.local/"),
    ("host", "http://metadata.google.internal/computeMetadata/v1/"),
    ("host", "http://router.lan/"),
    ("host", "http://nas.home.arpa/"),
    ("host", "http://intranet/"),
    ("url", "http://ｌｏｃａｌｈｏｓｔ/"),
]


@pytest.mark.parametrize(("rule", "address"), REFUSED)
def test_a_hostile_address_is_refused_with_its_reason(rule: str, address: str) -> None:
    with pytest.raises(Blocked) as refused:
        Guard().url(address)
    assert (refused.value.rule, refused.value.category) == (rule, "BUSINESS")
    assert not refused.value.retry
    assert len(str(refused.value)) > 20


@pytest.mark.parametrize("digits", ["１２７.0.0.1", "①②⑦.0.0.1", "127.0.0.１"])
def test_digits_that_only_look_like_digits_are_refused(digits: str) -> None:
    with pytest.raises(Blocked):
        Guard().url(f"http://{digits}/")


def test_there_are_enough_of_them() -> None:
    assert len(REFUSED) >= 60


@pytest.mark.parametrize(
    ("address", "asked"),
    [
        ("https://example.org/a?b=c#d", "https://example.org/a?b=c"),
        ("  HTTP://Example.ORG:80/\n", "http://example.org/"),
        ("http://example.org./x", "http://example.org/x"),
        ("https://bücher.example.org/", "https://xn--bcher-kva.example.org/"),
        ("https://例え.jp/パス", "https://xn--r8jz45g.jp/%E3%83%91%E3%82%B9"),
        ("https://93.184.216.34:8443/", "https://93.184.216.34:8443/"),
        ("http://[2606:2800:220:1::1]/", "http://[2606:2800:220:1::1]/"),
        ("http://[64:ff9b::5db8:d822]/", "http://[64:ff9b::5db8:d822]/"),
        ("https://example.org/a@b/c", "https://example.org/a@b/c"),
        ("https://4chan.example.org/", "https://4chan.example.org/"),
        ("https://a_b.example.org/", "https://a_b.example.org/"),
    ],
)
def test_an_address_of_the_web_passes_in_one_form(address: str, asked: str) -> None:
    assert str(Guard().url(address)) == asked


async def resolved(guard_options: dict[str, object], host: str, answers: Sequence[str]) -> list[str]:
    async def resolve(name: str, port: int) -> list[str]:
        return list(answers)

    return await Guard(resolve=resolve, **guard_options).addresses(host, 80)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "answers",
    [
        ["127.0.0.1"],
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["::1"],
        ["fe80::1%eth0"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::a00:1"],
        ["93.184.216.34", "127.0.0.1"],
        ["93.184.216.34", "fd00::1"],
        ["nonsense"],
    ],
)
async def test_a_name_that_resolves_to_a_shut_address_is_refused(answers: list[str]) -> None:
    with pytest.raises(Blocked) as refused:
        await resolved({}, "rebind.example.org", answers)
    assert refused.value.rule == "address"


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "localhost", "metadata.google.internal"])
async def test_a_connection_is_refused_by_name_as_well(host: str) -> None:
    with pytest.raises(Blocked):
        await resolved({}, host, ["93.184.216.34"])


async def test_a_public_name_gives_all_its_addresses() -> None:
    found = await resolved({}, "example.org", ["2606:2800:220:1::1", "93.184.216.34", "93.184.216.34"])
    assert found == ["2606:2800:220:1::1", "93.184.216.34"]


async def test_a_name_that_is_not_known_may_be_tried_again() -> None:
    async def fail(name: str, port: int) -> list[str]:
        raise socket.gaierror(-2, "Name or service not known")

    with pytest.raises(Unavailable, match=r"nowhere\.example\.org: the host name cannot be resolved"):
        await Guard(resolve=fail).addresses("nowhere.example.org", 80)
    with pytest.raises(Unavailable, match="no address"):
        await resolved({}, "empty.example.org", [])


@pytest.mark.parametrize(
    ("allow", "address"),
    [
        ("127.0.0.1:9000", "http://127.0.0.1:9000/"),
        ("127.0.0.1", "http://127.0.0.1:9000/"),
        ("localhost:8000", "http://localhost:8000/"),
        ("wiki.corp", "https://wiki.corp/"),
        ("::1", "http://[::1]/"),
        ("[::1]:8000", "http://[::1]:8000/"),
        ("10.0.0.0/8", "http://10.2.3.4/"),
    ],
)
def test_what_is_allowed_on_purpose_passes(allow: str, address: str) -> None:
    assert str(Guard([checked(allow)]).url(address)) == address


@pytest.mark.parametrize(
    ("allow", "address"),
    [
        ("127.0.0.1:9000", "http://127.0.0.1:9001/"),
        ("127.0.0.1", "http://127.0.0.2/"),
        ("wiki.corp", "http://evil.wiki.corp/"),
        ("10.0.0.0/8", "http://11.0.0.1:22/"),
        ("127.0.0.1", "http://u:p@127.0.0.1/"),
    ],
)
def test_what_is_allowed_opens_nothing_else(allow: str, address: str) -> None:
    with pytest.raises(Blocked):
        Guard([allow]).url(address)


async def test_an_allowed_host_is_not_opened_to_strangers_that_resolve_to_it() -> None:
    assert await resolved({"allow": ["127.0.0.1:80"]}, "127.0.0.1", []) == ["127.0.0.1"]
    with pytest.raises(Blocked):
        await resolved({"allow": ["127.0.0.1:80"]}, "evil.example.org", ["127.0.0.1"])


async def test_an_allowed_name_or_network_may_resolve_inwards() -> None:
    assert await resolved({"allow": ["wiki.corp"]}, "wiki.corp", ["10.0.0.1"]) == ["10.0.0.1"]
    assert await resolved({"allow": ["10.0.0.0/8"]}, "wiki.example.org", ["10.0.0.1"]) == ["10.0.0.1"]


@pytest.mark.parametrize("entry", ["", ":80", "10.0.0.1/8", "host:port", "a/b"])
def test_an_allow_list_that_says_nothing_is_refused(entry: str) -> None:
    with pytest.raises(ValueError):
        checked(entry)


@pytest.mark.parametrize(
    ("address", "safe"),
    [
        ("https://user:secret@example.org/a?key=secret#secret", "https://example.org/a?…"),
        ("http://user:sec@ret@example.org/", "http://example.org/"),
        ("user:secret@example.org", "example.org"),
        ("http://example.org/\x1b[31m", "http://example.org/[31m"),
        ("https://例え.jp/パス", "https://例え.jp/パス"),
    ],
)
def test_messages_hold_no_secrets(address: str, safe: str) -> None:
    assert shown(address) == safe


def test_a_refusal_says_how_to_open_on_purpose() -> None:
    with pytest.raises(Blocked, match=r'127\.0\.0\.1 is loopback; to allow it, add "127\.0\.0\.1"'):
        Guard().url("http://127.0.0.1/")
