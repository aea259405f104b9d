"""The settings of the plugin `model`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, SecretStr

from leadline_plugins.search.filters import Country, Domains

VENDORS = ("openai", "gemini", "openrouter")
_DEFAULTS = {"openai": "gpt-5-mini", "gemini": "gemini-2.5-flash", "openrouter": "openai/gpt-5-mini"}
_URLS = {
    "openai": "https://api.openai.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
    "openrouter": "https://openrouter.ai/api/v1",
}


class ModelSearchSettings(Domains):
    """The vendor of the model; each search costs tokens, and a fee per search."""

    vendor: Literal["auto", "openai", "gemini", "openrouter"] = Field("auto", description="auto: the first with a key")
    model: str = Field(
        "",
        description=f"the model; by default {', '.join(f'{model} at {vendor}' for vendor, model in _DEFAULTS.items())}",
    )
    openai_api_key: SecretStr = Field(SecretStr(""), description="OpenAI's key")
    gemini_api_key: SecretStr = Field(SecretStr(""), description="Gemini's key")
    openrouter_api_key: SecretStr = Field(SecretStr(""), description="OpenRouter's key")
    base_url: str = Field("", description="the address, if it is not the usual one of the vendor")
    country: Country = Field("", description="country of the searches, as two letters (OpenAI, OpenRouter)")
    context_size: Literal["low", "medium", "high"] = Field(
        "medium", description="how much of the pages the model reads (OpenAI, OpenRouter)"
    )

    def key(self, vendor: str) -> SecretStr:
        """Return the key of a vendor."""
        key: SecretStr = getattr(self, f"{vendor}_api_key")
        return key

    @property
    def asked(self) -> str:
        """The model that searches."""
        return self.model or _DEFAULTS[vendor_of(self)]

    @property
    def url(self) -> str:
        """The vendor's address."""
        return self.base_url or _URLS[vendor_of(self)]


def vendor_of(settings: ModelSearchSettings) -> str:
    """Return the vendor of the settings, else the first with a key."""
    if settings.vendor != "auto":
        return settings.vendor
    return next((name for name in VENDORS if settings.key(name).get_secret_value()), VENDORS[0])


def ready(settings: ModelSearchSettings) -> str | None:
    """Return that the key is missing; None if it is there."""
    vendor = vendor_of(settings)
    if settings.key(vendor).get_secret_value():
        return None
    names = [vendor] if settings.vendor != "auto" else VENDORS
    return f"no key: set {' or '.join(f'{name.upper()}_API_KEY' for name in names)}, or the key in its section"
