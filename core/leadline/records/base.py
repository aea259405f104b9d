"""The base class of records, their field types, and the records of every call and run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, PlainSerializer, SecretStr

from leadline.display import choose_from
from leadline.records.notices import Notice

Json = Mapping[str, JsonValue]

# Annotation marks that guide how replies of models are read. PROSE: text for people. NUMBERED: an id that is assigned
# if the reply has none. SINGLE: an item of a list that is independent of the others; only it is dropped if unreadable.
PROSE, NUMBERED, SINGLE = "prose", "numbered", "single"

# Text that a redacting middleware may change. Ids, names and URLs are plain `str`.
Text = Annotated[str, "prose"]

# Sensitivity labels: a source has those of its hit and of the file that was read. Serialized in a fixed order.
Labels = Annotated[frozenset[str], PlainSerializer(sorted, list[str], when_used="json")]

Category = Literal["NETWORK", "LLM", "BUSINESS", "RESOURCE_LIMIT"]
Confidence = Literal["high", "medium", "low"]

# Tier of a source: 1 primary and official, 2 reputable secondary, 3 other.
Tier = Literal[1, 2, 3]

# Separates the names in a chain of providers: `openai > embedded`.
THEN = " > "


class Record(BaseModel):
    """The base of all records: frozen; bytes are base64 in JSON.

    A constructor and `model_copy` raise TypeError for an unknown field; in JSON that is read, those of newer versions
    are ignored.
    """

    model_config = ConfigDict(
        frozen=True, ser_json_bytes="base64", val_json_bytes="base64", extra="ignore", defer_build=True
    )

    if not TYPE_CHECKING:  # checkers derive the arguments from the fields

        def __init__(self, /, **data: Any) -> None:
            _check_names(type(self), data)
            super().__init__(**data)

        # Without the mark, pydantic would call it for what it reads, too.
        __init__.__pydantic_base_init__ = True

        def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Any:
            _check_names(type(self), update or {})
            return super().model_copy(update=update, deep=deep)


def _check_names(record: type[Record], data: Mapping[str, Any]) -> None:
    fields = record.__pydantic_fields__
    if data.keys() <= fields.keys():
        return
    known = [*fields, *(field.alias for field in fields.values() if field.alias)]
    if unknown := next((name for name in data if name not in known), None):
        raise TypeError(f"{record.__name__} has no field {unknown!r}: {choose_from(unknown, known)}")


class Usage(Record):
    """What one call used. `cost` is in USD as billed, or None if the provider does not report it."""

    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    reasoning_tokens: int = 0
    cost: Decimal | None = None


class Failure(Record):
    """A call that failed for good, as the journal stores it."""

    kind: str
    """The kind of the call: `search`, `chat`, …"""
    provider: str
    category: Category
    type: str
    """The class name of the provider's error."""
    message: Notice
    attempts: int = 1
    detail: Text = ""
    """Details that only `metadata.json` shows."""
    traceback: Text = ""
    """The traceback of a plugin's fault, without secrets; only `metadata.json` shows it."""

    @property
    def text(self) -> Notice:
        """The failure as one line for people, with the code of its message, or `failed`."""
        return self.text_for("")

    def text_for(self, provider: str) -> Notice:
        """Return the failure as one line for a reader who knows this provider."""
        if THEN in self.provider:  # the message of a chain names each provider
            return self.message
        whose = "" if provider == self.provider else f"{self.kind} by {self.provider}: "
        tries = f" (after {self.attempts} attempts)" if self.attempts > 1 else ""
        code = "failed" if self.message.code == "text" else self.message.code
        about = {"kind": self.kind, "provider": self.provider, "failure": f"{self.message}"}
        return Notice.of(f"{whose}{self.message}{tries}", code, {**self.message.parameters, **about})


class Principal(Record):
    """The user on whose behalf a run works. Only the id is ever written to disk."""

    id: str
    credential: SecretStr | None = Field(None, exclude=True, repr=False)


class Answer(Record):
    """The answer of a person to a question of the run."""

    action: Literal["accept", "decline", "cancel"]
    content: Json = {}


class Event(Record):
    """One event; `leadline.events` describes `data` for each kind."""

    seq: int
    time: datetime
    run_id: str
    kind: str
    data: Json = {}
    trace_id: str = ""
    span_id: str = ""
    parent_id: str | None = None
    v: int = 1
