"""The settings of the plugin `litellm`."""

from __future__ import annotations

from pydantic import Field, JsonValue, SecretStr, field_validator

from leadline.plugin import PluginSettings
from leadline_plugins.ai.openai.settings import (
    Address,
    Headers,
    ModelSettings,
    Streaming,
    refuse_request_fields,
    refuse_secrets,
)


class LitellmSettings(PluginSettings):
    """Models by litellm. Each vendor's key is read from the variable that the vendor uses (ANTHROPIC_API_KEY …)."""

    model: str = Field("", description="the model if no role or task names one, as VENDOR/MODEL")
    embedding_model: str = Field("", description="the embedding model, as VENDOR/MODEL")
    api_key: SecretStr = Field(SecretStr(""), description="the API key, instead of the vendor's variable")
    api_base: Address = Field("", description="the address, instead of the vendor's own")
    models: dict[str, ModelSettings] = Field({}, description="capabilities of single models")
    headers: Headers = Field({}, description="headers sent with every request")
    credentials: dict[str, SecretStr] = Field(
        {}, description="secret arguments of litellm, such as aws_secret_access_key or vertex_credentials"
    )
    extra: dict[str, JsonValue] = Field({}, description="arguments of litellm sent with every chat; none is secret")
    stream: Streaming = Field("auto", description="whether to stream replies; auto: only those that somebody watches")
    connect_timeout: float = Field(10, gt=0, description="seconds to wait for a connection")
    read_timeout: float = Field(120, gt=0, description="seconds of silence before a reply is abandoned")

    @field_validator("extra")
    @classmethod
    def _without_reserved_fields(cls, extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
        refuse_secrets(extra, "put headers into `headers`, other arguments into `credentials`, the key into `api_key`")
        refuse_request_fields(extra)
        return extra

    @property
    def secrets(self) -> tuple[str, ...]:
        """The plain text of all values that no error may contain."""
        values = (self.api_key, *self.headers.values(), *self.credentials.values())
        return tuple(secret.get_secret_value() for secret in values)
