"""The settings of the plugin `openai`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr, field_validator

from leadline.hookspecs import PluginSettings
from leadline_plugins.ai.openai.kept import refuse_ours, refuse_secret_address, refuse_secrets, refuse_transfer
from leadline_plugins.ai.openai.manner import Streaming
from leadline_plugins.ai.openai.proxies import proxy_fault

if TYPE_CHECKING:
    from ssl import SSLContext

OPENAI = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-5-mini"
DEFAULT_EMBEDDING = "text-embedding-3-small"
AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
"""Ends of Azure's own hosts."""

_PASTED = re.compile(r"/+(chat/completions|completions|responses|embeddings|models)$")
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)")


class ModelSettings(BaseModel):
    """What one model can do, where the defaults are wrong about it; what it costs stands in `ai.prices`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    json_schema: bool = Field(True, description="whether replies can be held to a schema")
    tools: bool = Field(True, description="whether it can call tools")
    temperature: bool = Field(True, description="whether a temperature may be sent")
    context_tokens: int | None = Field(None, ge=1, description="tokens that fit into a request and its reply")


class OpenAISettings(PluginSettings):
    """An endpoint that speaks OpenAI's protocol; a second one is a section with `use = "openai"`."""

    api_key: SecretStr = Field(SecretStr(""), description="the key; a server of one's own needs none")
    base_url: str = Field(OPENAI, description="the address before /chat/completions")
    model: str = Field("", description=f"the model where no role or task names one; at OpenAI {DEFAULT_MODEL}")
    embedding_model: str = Field("", description=f"the model of embeddings; at OpenAI {DEFAULT_EMBEDDING}")
    dimensions: int | None = Field(None, ge=1, description="numbers of an embedding, where the model lets one choose")
    models: dict[str, ModelSettings] = Field({}, description="what single models can do")
    api: Literal["auto", "chat", "responses"] = Field(
        "auto", description="auto: chat completions, and responses for models that are served by nothing else"
    )
    api_version: str = Field("", description="Azure's; with one, its paths by deployment are used")
    organization: str = Field("", description="the organisation that pays")
    project: str = Field("", description="the project that pays")
    headers: dict[str, SecretStr] = Field({}, description="headers sent with every request")
    extra_body: dict[str, JsonValue] = Field({}, description="fields sent with every chat, such as top_k or provider")
    stream: Streaming = Field(
        "auto", description="whether replies are streamed; auto: those that somebody follows while they are written"
    )
    connect_timeout: float = Field(10, gt=0, description="seconds until the connection stands")
    read_timeout: float = Field(120, gt=0, description="seconds of silence until a reply is given up")
    proxy: str = Field("", description="the proxy; by default that of the environment (HTTPS_PROXY)")
    ca_file: Path | None = Field(None, description="certificates of authorities to trust in place of the usual ones")

    @field_validator("base_url")
    @classmethod
    def _without_key(cls, address: str) -> str:
        refuse_secret_address(address)
        return address

    @field_validator("headers")
    @classmethod
    def _sendable(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        refuse_transfer(headers)
        return headers

    @field_validator("extra_body")
    @classmethod
    def _open(cls, fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
        refuse_secrets(fields, "put headers into `headers`, the key into `api_key`")
        refuse_ours(fields)
        return fields

    @property
    def root(self) -> str:
        """The base URL without what is often pasted along with it."""
        parts = _split(self.base_url)
        return parts._replace(path=_PASTED.sub("", parts.path.rstrip("/")).rstrip("/"), fragment="").geturl()

    @property
    def version(self) -> str:
        """Azure's version, which may stand in a pasted address; its newer paths need none."""
        parts = _split(self.base_url)
        older = _DEPLOYMENT.search(parts.path) or (_azure(parts) and "/v1" not in parts.path)
        pasted = parse_qs(parts.query).get("api-version", ()) if older else ()
        return self.api_version or "".join(pasted)

    @property
    def deployment(self) -> str:
        """The deployment that a pasted address of Azure names: there the name of a model."""
        found = _DEPLOYMENT.search(_split(self.base_url).path)
        return unquote(found[1]) if found and self.at_azure else ""

    @property
    def host(self) -> str:
        """The host of the endpoint, with its port where it is no usual one."""
        return _split(self.root).netloc.rpartition("@")[2]

    @property
    def at_openai(self) -> bool:
        """Whether the endpoint is OpenAI's own."""
        return self.host == "api.openai.com"

    @property
    def at_azure(self) -> bool:
        """Whether the endpoint is Azure's: it takes the key in a header of its own."""
        return bool(self.version) or _azure(_split(self.root))


def ready(settings: OpenAISettings) -> str | None:
    """Say what is missing: an address, or the key that all but one's own servers ask for."""
    parts = _split(settings.root)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"base_url {settings.base_url!r} is no address such as {OPENAI} or http://127.0.0.1:11434/v1"
    if settings.ca_file and (fault := _untrustable(settings.ca_file)):
        return fault
    if fault := unsendable(settings.api_key, settings.headers) or proxy_fault(settings.proxy):
        return fault
    given = {name.lower() for name in settings.headers}
    if settings.api_key.get_secret_value() or given & {"authorization", "api-key"} or is_own(parts.hostname):
        return None
    return f"no key for {settings.host}: set OPENAI_API_KEY, or api_key in the plugin's section"


def trusting(path: Path) -> SSLContext:
    """Return what trusts the authorities of a file alone. Raises `OSError` where it holds none that can be read."""
    from ssl import create_default_context  # 20 ms, and few have such a file

    return create_default_context(cafile=str(path.expanduser()))


def _untrustable(path: Path) -> str | None:
    if not path.expanduser().is_file():
        return f"ca_file {path} is no file"
    try:
        trusting(path)
    except OSError as error:  # of which an SSLError is one
        return f"ca_file {path} holds no certificates that can be read: {error}"
    return None


def unsendable(api_key: SecretStr, headers: Mapping[str, SecretStr]) -> str | None:
    """Name the setting whose value no header can carry: a line end, or a character that was pasted for another."""
    values = {f"headers.{name}": value.get_secret_value() for name, value in headers.items()}
    for name, text in {"api_key": api_key.get_secret_value().strip(), **values}.items():
        if not (text.isascii() and text.isprintable()):
            return f"{name} holds a character that no HTTP header can carry: a line end, or one that is not ASCII"
    return None


def _split(address: str) -> SplitResult:
    """Split an address; one that is none has neither scheme nor host."""
    try:
        return urlsplit(address.strip())
    except ValueError:
        return SplitResult("", "", address.strip(), "", "")


def _azure(address: SplitResult) -> bool:
    return (address.hostname or "").endswith(AZURE)


def is_own(host: str) -> bool:
    """Tell whether a host is this machine, or one of a private network."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
