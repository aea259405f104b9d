"""The settings of the plugin `litellm`."""

from __future__ import annotations

from pydantic import Field, JsonValue, SecretStr

from leadline.hookspecs import PluginSettings
from leadline_plugins.ai.openai.manner import Streaming
from leadline_plugins.ai.openai.settings import ModelSettings


class LitellmSettings(PluginSettings):
    """Models by litellm. Each vendor's key is read from the variable that vendor names (ANTHROPIC_API_KEY …)."""

    model: str = Field("", description="the model where no role or task names one, as VENDOR/MODEL")
    embedding_model: str = Field("", description="the model of embeddings, as VENDOR/MODEL")
    api_key: SecretStr = Field(SecretStr(""), description="the key, in place of the vendor's variable")
    api_base: str = Field("", description="the address, in place of the vendor's own")
    models: dict[str, ModelSettings] = Field({}, description="what single models can do")
    extra: dict[str, JsonValue] = Field({}, description="arguments of litellm sent with every chat")
    stream: Streaming = Field(
        "auto", description="whether replies are streamed; auto: those that somebody follows while they are written"
    )
    connect_timeout: float = Field(10, gt=0, description="seconds until the connection stands")
    read_timeout: float = Field(120, gt=0, description="seconds of silence until a reply is given up")
