"""The settings of the plugin `openai`, and the checks that it shares with `litellm`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import SplitResult, parse_qs, parse_qsl, unquote, urlsplit
from urllib.request import getproxies

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, SecretStr, field_validator

from leadline.http import proxy_of
from leadline.plugin import PluginSettings

if TYPE_CHECKING:
    from ssl import SSLContext

OPENAI = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-5-mini"
DEFAULT_EMBEDDING = "text-embedding-3-small"
AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
Streaming = bool | Literal["auto"]

_PASTED = re.compile(r"/+(chat/completions|completions|responses|embeddings|models)$")
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)")
_SOCKS = ("socks5", "socks5h")
_PROXY_SCHEMES = ("http", "https", *_SOCKS)
_INSTALL_SOCKS = "leadline plugins install 'leadline[socks]'"
_REQUEST_FIELDS = ("input", "messages", "model", "n", "response_format", "stream", "stream_options", "tools")
_TRANSFER_HEADERS = ("content-length", "transfer-encoding")
# Names of fields that may hold a secret.
_SECRET = re.compile(
    r"(^|_)(api|access|secret|private|auth|subscription|client)_?key(_id)?$|token$|secret|passw(or)?d|credential"
    r"|authorization|headers$",
    re.IGNORECASE,
)
# Further such names in the query of an address.
_SECRET_QUERY = re.compile(r"(^|[_.-]|api|access|subscription)key$|^sig(nature)?$|^code$", re.IGNORECASE)


def _checked_headers(headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
    """Return the headers; raise `ValueError` if a header is one that the HTTP client sets in every request."""
    if names := sorted(name for name in headers if name.strip().lower() in _TRANSFER_HEADERS):
        raise ValueError(f"{', '.join(names)} cannot be set here: the HTTP client sets it in every request")
    return headers


def _checked_address(address: str) -> str:
    """Return the address; raise `ValueError` if an address contains a key, before its host or in its query."""
    parts = _split(address)
    names = [name for name, _ in parse_qsl(parts.query) if _SECRET_QUERY.search(name) or _SECRET.search(name)]
    if "@" in parts.netloc or names:
        where = f"the query has {', '.join(names)}" if names else "there is something before the @ of the host"
        raise ValueError(
            f"{where}, which may be secret, and an address is stored and shown: "
            "put the key into `api_key`, or into `headers`"
        )
    return address


Address = Annotated[str, AfterValidator(_checked_address)]
Headers = Annotated[dict[str, SecretStr], AfterValidator(_checked_headers)]


class ModelSettings(BaseModel):
    """Corrections to what Leadline assumes of one model; prices belong in `ai.prices`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    json_schema: bool = Field(True, description="whether replies can follow a JSON schema")
    tools: bool = Field(True, description="whether the model can call tools")
    context_tokens: int | None = Field(None, ge=1, description="tokens of a request and its reply together")


class OpenAISettings(PluginSettings):
    """An OpenAI-compatible endpoint; add a second one as a section with `use = "openai"`."""

    authority = {"ca_file": "certificates"}
    unstored = ("organization", "project", "proxy")

    api_key: SecretStr = Field(SecretStr(""), description="the API key; a local server needs none")
    base_url: Address = Field(OPENAI, description="the address before /chat/completions")
    model: str = Field("", description=f"the model if no role or task names one; at OpenAI {DEFAULT_MODEL}")
    embedding_model: str = Field("", description=f"the embedding model; at OpenAI {DEFAULT_EMBEDDING}")
    dimensions: int | None = Field(None, ge=1, description="dimensions of an embedding, if the model lets you choose")
    models: dict[str, ModelSettings] = Field({}, description="capabilities of single models")
    api: Literal["auto", "chat", "responses"] = Field(
        "auto", description="auto: chat completions, or responses for models that need them"
    )
    api_version: str = Field("", description="the API version at Azure; selects its paths by deployment")
    organization: str = Field("", description="the organization that pays")
    project: str = Field("", description="the project that pays")
    headers: Headers = Field({}, description="headers sent with every request")
    extra_body: dict[str, JsonValue] = Field({}, description="fields sent with every chat, such as top_k or provider")
    stream: Streaming = Field("auto", description="whether to stream replies; auto: only those that somebody watches")
    connect_timeout: float = Field(10, gt=0, description="seconds to wait for a connection")
    read_timeout: float = Field(120, gt=0, description="seconds of silence before a reply is abandoned")
    proxy: str = Field("", description="the proxy; default: that of the environment (HTTPS_PROXY)")
    ca_file: Path | None = Field(None, description="certificate authorities to trust instead of the usual ones")

    @field_validator("extra_body")
    @classmethod
    def _without_reserved_fields(cls, fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
        refuse_secrets(fields, "put headers into `headers`, the key into `api_key`")
        refuse_request_fields(fields)
        return fields

    @property
    def root(self) -> str:
        """The base URL without a path that is often pasted along with it."""
        parts = _split(self.base_url)
        return parts._replace(path=_PASTED.sub("", parts.path.rstrip("/")).rstrip("/"), fragment="").geturl()

    @property
    def version(self) -> str:
        """The API version at Azure, also if it is part of a pasted address; the newer paths need none."""
        parts = _split(self.base_url)
        versioned = bool(_DEPLOYMENT.search(parts.path)) or (_is_azure(parts) and "/v1" not in parts.path)
        pasted = parse_qs(parts.query).get("api-version", [""])[0]
        return self.api_version or (pasted if versioned else "")

    @property
    def deployment(self) -> str:
        """The deployment in a pasted Azure address; Azure uses it as the name of the model."""
        match = _DEPLOYMENT.search(_split(self.base_url).path)
        return unquote(match[1]) if match and self.at_azure else ""

    @property
    def host(self) -> str:
        """The host of the endpoint, with its port unless it is the usual one."""
        return _split(self.root).netloc.rpartition("@")[2]

    @property
    def at_openai(self) -> bool:
        """True for OpenAI's own endpoint."""
        return self.host == "api.openai.com"

    @property
    def at_azure(self) -> bool:
        """True for an Azure endpoint, which expects the key in the header `api-key`."""
        return bool(self.version) or _is_azure(_split(self.root))


# The way without a key.
_LOCAL = "for a local server, such as Ollama, its address: OPENAI_BASE_URL=http://127.0.0.1:11434/v1"


def ready(settings: OpenAISettings) -> str | None:
    """Return the first fault of the settings: a bad proxy, header or file, or a missing key."""
    if settings.ca_file and (fault := _ca_file_fault(settings.ca_file)):
        return fault
    if fault := header_fault(settings.api_key, settings.headers) or proxy_fault(settings.proxy):
        return fault
    names = {name.lower() for name in settings.headers}
    if (
        settings.api_key.get_secret_value()
        or names & {"authorization", "api-key"}
        or _is_private(_split(settings.root).hostname or "")
    ):
        return None
    return f"no key for {settings.host}: set OPENAI_API_KEY, or {_LOCAL}"


def ssl_context(path: Path) -> SSLContext:
    """Return a context that trusts only the authorities of a file. Raises `OSError` if it has no readable ones."""
    from ssl import create_default_context  # takes 20 ms, and few users have such a file

    return create_default_context(cafile=str(path.expanduser()))


def header_fault(api_key: SecretStr, headers: Mapping[str, SecretStr]) -> str | None:
    """Return an error that names the setting whose value cannot be sent as a header; None if all can."""
    values = {f"headers.{name}": value.get_secret_value() for name, value in headers.items()}
    for name, text in {"api_key": api_key.get_secret_value().strip(), **values}.items():
        if not (text.isascii() and text.isprintable()):
            return f"{name} contains a character that HTTP headers do not allow: a line end or a non-ASCII character"
    return None


def _ca_file_fault(path: Path) -> str | None:
    if not path.expanduser().is_file():
        return f"ca_file {path} is not a file"
    try:
        ssl_context(path)
    except OSError as error:  # SSLError is a subclass
        return f"ca_file {path} has no readable certificates: {error}"
    return None


def _split(address: str) -> SplitResult:
    """Split an address; a malformed one has neither scheme nor host."""
    try:
        return urlsplit(address.strip())
    except ValueError:
        return SplitResult("", "", address.strip(), "", "")


def _is_azure(address: SplitResult) -> bool:
    return (address.hostname or "").endswith(AZURE)


def _is_private(host: str) -> bool:
    """Return whether a host is this machine or in a private network."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))


# --- settings that are stored with each run, and so must hold no secret ----------------------------------------------


def refuse_secrets(fields: Mapping[str, JsonValue], instead: str) -> None:
    """Raise `ValueError` if a field at any depth has the name of a secret; `instead` tells where those belong."""
    if names := [name for name in _field_names(fields) if _SECRET.search(name)]:
        raise ValueError(f"{', '.join(names)} may be secret, and this setting is stored and shown: {instead}")


def refuse_request_fields(fields: Mapping[str, JsonValue]) -> None:
    """Raise `ValueError` if a field is one that Leadline sets in every request."""
    if names := sorted(set(_REQUEST_FIELDS) & set(fields)):
        raise ValueError(f"{', '.join(names)} cannot be set here: Leadline sets it in every request")


def _field_names(value: JsonValue | Mapping[str, JsonValue]) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield name
            yield from _field_names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _field_names(item)


# --- proxies ---------------------------------------------------------------------------------------------------------


def proxy_fault(proxy: str) -> str | None:
    """Return the fault of a proxy of the settings; without one, a SOCKS proxy of the environment that cannot be used.

    Other faults of the environment need not matter, because not every host is reached through its proxies.
    """
    if proxy:
        return _fault(proxy)
    names = (
        f"{scheme.upper()}_PROXY" for scheme in ("http", "https", "all") if _is_socks(getproxies().get(scheme, ""))
    )
    name = next(names, "")
    return f"{name} is a SOCKS proxy: {_INSTALL_SOCKS}" if name and find_spec("socksio") is None else None


def proxy_for(address: str, proxy: str) -> str:
    """Describe the proxy that requests to an address go through, for errors; empty if there is none."""
    parts = _split(address)
    used = proxy or proxy_of(parts.scheme, parts.hostname or "")
    names = [name for lower in (f"{parts.scheme}_proxy", "all_proxy") for name in (lower, lower.upper())]
    source = "the setting proxy" if proxy else next((name for name in names if os.environ.get(name)), "the system's")
    return f"the proxy {urlsplit(used).netloc.rpartition('@')[2]} ({source})" if used else ""


def _fault(proxy: str) -> str | None:
    try:
        parts = urlsplit(proxy)
        valid = parts.scheme in _PROXY_SCHEMES and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        return "proxy is not an address such as http://127.0.0.1:3128"
    return f"proxy is a SOCKS proxy: {_INSTALL_SOCKS}" if _is_socks(proxy) and find_spec("socksio") is None else None


def _is_socks(proxy: str) -> bool:
    return proxy.partition("://")[0] in _SOCKS
