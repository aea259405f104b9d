"""Proxies, by the settings or the environment: what is wrong with one is said before anything is asked by it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

_SOCKS = ("socks5", "socks5h")
_SCHEMES = ("http", "https", *_SOCKS)
_SCHEMES_OF_ENVIRONMENT = ("http", "https", "all")
_INSTALL = "pip install leadline[socks]"
_NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


def proxy_fault(proxy: str) -> str | None:
    """Say what is wrong with the proxy of the settings, or that one of the environment cannot be spoken to at all.

    What else is wrong with those of the environment need not matter: not every host is asked by them.
    """
    if proxy:
        return _fault(proxy)
    socks = [f"{scheme.upper()}_PROXY" for scheme in _SCHEMES_OF_ENVIRONMENT if _is_socks(getproxies().get(scheme, ""))]
    return f"{socks[0]} is a SOCKS proxy: {_INSTALL}" if socks and find_spec("socksio") is None else None


def proxies_named(proxy: str) -> str:
    """Return where the proxy stands, for errors; of the environment all that speak of proxies."""
    if proxy:
        return "the setting proxy"
    there = [name for lower in _NAMES for name in (lower.upper(), lower) if os.environ.get(name)]
    return f"{', '.join(there)} of the environment" if there else "the system's proxy"


def proxy_between(proxy: str, address: str) -> str:
    """Return the proxy by which an address is asked, with where it stands, for errors; empty where none is."""
    try:
        parts = urlsplit(address)
    except ValueError:  # no address, as is told elsewhere
        return ""
    named = "the setting proxy"
    if not proxy:
        there, names = getproxies(), (f"{parts.scheme}_proxy", "all_proxy")
        proxy = there.get(parts.scheme) or there.get("all") or ""
        if not proxy or proxy_bypass(parts.hostname or ""):
            return ""
        said = (name for lower in names for name in (lower, lower.upper()) if os.environ.get(name))
        named = next(said, "the system's")
    host = urlsplit(proxy if "://" in proxy else f"http://{proxy}").netloc.rpartition("@")[2]
    return f"the proxy {host} ({named})"


def _fault(proxy: str) -> str | None:
    try:
        parts = urlsplit(proxy)
        whole = parts.scheme in _SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        whole = False
    if not whole:
        return "proxy is no address such as http://127.0.0.1:3128"
    return f"proxy is a SOCKS proxy: {_INSTALL}" if _is_socks(proxy) and find_spec("socksio") is None else None


def _is_socks(proxy: str) -> bool:
    return proxy.partition("://")[0] in _SOCKS
