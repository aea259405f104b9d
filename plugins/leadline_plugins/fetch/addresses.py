"""Which addresses are no part of the public web, and what they are instead.

The table names what people should be told; whatever else the standard library knows not to be global is refused too.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

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
        ("::ffff:0:0/96", "an IPv4 address in IPv6 dress"),
        ("::/96", "an IPv4 address in IPv6 dress"),
        ("::ffff:0:0:0/96", "an IPv4 address in IPv6 dress"),
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
    """Return what an address is that is not public; empty for a public one.

    An address of the well-known NAT64 prefix is what the IPv4 address in it is: networks without IPv4 reach the whole
    IPv4 web by them.
    """
    if address in _NAT64:
        return kind_of(IPv4Address(int(address) & 0xFFFFFFFF))
    for network, kind in _KINDS:
        if address in network:
            return kind
    return "" if address.is_global and not (address.is_multicast or address.is_reserved) else "not public"


def literal(host: str) -> Address | None:
    """Return the address that a host spells out in its one canonical form; None for a name, or one with a zone."""
    try:
        return ip_address(host) if "%" not in host else None
    except ValueError:
        return None
