"""What of the settings is kept and shown holds no key: it is refused, and neither told nor stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trustme
from pydantic import ValidationError

import leadline
from leadline.errors import ConfigError
from leadline_plugins.ai.litellm.settings import LitellmSettings
from leadline_plugins.ai.openai.settings import OpenAISettings, ready

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    "address",
    [
        f"https://{KEY}@api.example.org/v1",
        f"https://me:{KEY}@api.example.org/v1",
        f"https://api.example.org/v1?key={KEY}",
        f"https://api.example.org/v1?api-version=1&subscription-key={KEY}",
        f"https://api.example.org/v1?sig={KEY}",
        f"https://api.example.org/v1?access_token={KEY}",
        f"https://api.example.org/v1?code={KEY}",
    ],
)
async def test_an_address_with_a_key_is_refused_without_repeating_it(address: str) -> None:
    for model, field in ((OpenAISettings, "base_url"), (LitellmSettings, "api_base")):
        with pytest.raises(ValidationError, match="put the key into `api_key`, or into `headers`"):
            model(**{field: address})
    async with leadline.Client(set={"ai.providers": "openai", "plugins.openai.base_url": address}) as runs:
        with pytest.raises(ConfigError, match=r"plugins.openai.base_url: .* may be secret") as told:
            _ = runs.plugins
    assert KEY not in str(told.value)


@pytest.mark.parametrize(
    "address",
    ["https://x.openai.azure.com/openai/deployments/m?api-version=2024-10-21", "http://[::1", "", "http://h/?keys=1"],
)
def test_addresses_without_keys_are_accepted(address: str) -> None:
    assert OpenAISettings(base_url=address).base_url == address


@pytest.mark.parametrize("fields", [{"api_key": "x"}, {"a": [{"access_token": "x"}]}, {"extra_headers": {}}])
def test_secret_fields_belong_into_headers(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="put headers into `headers`, the key into `api_key`"):
        OpenAISettings(extra_body=fields)


@pytest.mark.parametrize("name", ["model", "messages", "n", "stream", "response_format", "tools", "input"])
def test_fields_of_every_request_cannot_be_set(name: str) -> None:
    for model, field in ((OpenAISettings, "extra_body"), (LitellmSettings, "extra")):
        with pytest.raises(ValidationError, match="Leadline sets it in every request"):
            model(**{field: {name: 2}})
    for model in (OpenAISettings, LitellmSettings):
        with pytest.raises(ValidationError, match="the HTTP client sets it in every request"):
            model(headers={"Content-length": "5"})


def test_harmless_fields_are_sent() -> None:
    fields: dict[str, Any] = {"top_k": 1, "max_tokens": 5, "prompt_cache_key": "a", "provider": {"order": ["b"]}}
    assert OpenAISettings(extra_body=fields).extra_body == fields


def test_a_file_without_authorities_is_reported_before_a_run(tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"

    def told() -> str | None:
        return ready(OpenAISettings(base_url="https://h.internal/v1", ca_file=file))

    assert told() == f"ca_file {file} is not a file"
    for text in ("nothing of the kind", "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        file.write_text(text)
        assert str(told()).startswith(f"ca_file {file} has no readable certificates: ")
    trustme.CA().cert_pem.write_to_path(str(file))
    assert told() is None
