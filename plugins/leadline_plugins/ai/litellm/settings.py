"""The settings of the plugin `litellm`."""

from __future__ import annotations

from pydantic import Field, JsonValue, SecretStr, field_validator

from leadline.hookspecs import PluginSettings
from leadline_plugins.ai.openai.kept import refuse_ours, refuse_secret_address, refuse_secrets, refuse_transfer
from leadline_plugins.ai.openai.manner import Streaming
from leadline_plugins.ai.openai.settings import ModelSettings

_INSTEAD = "put headers into `headers`, other arguments into `credentials`, the key into `api_key`"


class LitellmSettings(PluginSettings):
    """Models by litellm. Each vendor's key is read from the variable that vendor names (ANTHROPIC_API_KEY …)."""

    model: str = Field("", description="the model where no role or task names one, as VENDOR/MODEL")
    embedding_model: str = Field("", description="the model of embeddings, as VENDOR/MODEL")
    api_key: SecretStr = Field(SecretStr(""), description="the key, in place of the vendor's variable")
    api_base: str = Field("", description="the address, in place of the vendor's own")
    models: dict[str, ModelSettings] = Field({}, description="what single models can do")
    headers: dict[str, SecretStr] = Field({}, description="headers sent with every request")
    credentials: dict[str, SecretStr] = Field(
        {}, description="secret arguments of litellm, such as aws_secret_access_key or vertex_credentials"
    )
    extra: dict[str, JsonValue] = Field({}, description="arguments of litellm sent with every chat; none is secret")
    stream: Streaming = Field(
        "auto", description="whether replies are streamed; auto: those that somebody follows while they are written"
    )
    connect_timeout: float = Field(10, gt=0, description="seconds until the connection stands")
    read_timeout: float = Field(120, gt=0, description="seconds of silence until a reply is given up")

    @field_validator("api_base")
    @classmethod
    def _without_key(cls, address: str) -> str:
        refuse_secret_address(address)
        return address

    @field_validator("headers")
    @classmethod
    def _sendable(cls, headers: dict[str, SecretStr]) -> dict[str, SecretStr]:
        refuse_transfer(headers)
        return headers

    @field_validator("extra")
    @classmethod
    def _open(cls, extra: dict[str, JsonValue]) -> dict[str, JsonValue]:
        refuse_secrets(extra, _INSTEAD)
        refuse_ours(extra)
        return extra

    @property
    def secrets(self) -> tuple[str, ...]:
        """The plain text of all that may stand in no error."""
        held = (self.api_key, *self.headers.values(), *self.credentials.values())
        return tuple(secret.get_secret_value() for secret in held)
