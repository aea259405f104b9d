"""The settings of the plugin `openai`."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue, SecretStr

from leadline.hookspecs import PluginSettings
from leadline_plugins.ai.openai.manner import Streaming

OPENAI = "https://api.openai.com/v1"
DEFAULT_MODEL = "gpt-5-mini"
DEFAULT_EMBEDDING = "text-embedding-3-small"
AZURE = (".openai.azure.com", ".cognitiveservices.azure.com", ".services.ai.azure.com")
"""Ends of Azure's own hosts."""


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

    @property
    def root(self) -> str:
        """The base URL without what is often pasted along with it."""
        return self.base_url.strip().rstrip("/").removesuffix("/chat/completions").removesuffix("/responses")

    @property
    def host(self) -> str:
        """The host of the endpoint, with its port where it is no usual one."""
        return urlsplit(self.root).netloc.rpartition("@")[2]

    @property
    def at_openai(self) -> bool:
        """Whether the endpoint is OpenAI's own."""
        return self.host == "api.openai.com"

    @property
    def at_azure(self) -> bool:
        """Whether the endpoint is Azure's: it takes the key in a header of its own."""
        return bool(self.api_version) or (urlsplit(self.root).hostname or "").endswith(AZURE)


def ready(settings: OpenAISettings) -> str | None:
    """Say what is missing: an address, or the key that all but one's own servers ask for."""
    parts = urlsplit(settings.root)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"base_url {settings.base_url!r} is no address such as {OPENAI} or http://127.0.0.1:11434/v1"
    if settings.ca_file and not settings.ca_file.expanduser().is_file():
        return f"ca_file {settings.ca_file} is no file"
    given = {name.lower() for name in settings.headers}
    if settings.api_key.get_secret_value() or given & {"authorization", "api-key"} or is_own(parts.hostname):
        return None
    return f"no key for {settings.host}: set OPENAI_API_KEY, or api_key in the plugin's section"


def is_own(host: str) -> bool:
    """Tell whether a host is this machine, or one of a private network."""
    try:
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith((".localhost", ".local", ".internal"))
