"""Messages to people as data: a code and parameters beside the English text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pydantic_core import CoreSchema, core_schema


class Notice(str):
    """A message in English that keeps its code and parameters, from which an edge renders it in other words.

    Parameters are texts, numbers, notices, or lists of notices. A text without a code has the code `text`. In JSON a
    notice is an object {code, message, parameters}, or null if it is empty.
    """

    code: str
    parameters: Mapping[str, Any]

    def __new__(cls, template: str, code: str = "text", /, **parameters: Any) -> Notice:
        """Return a notice from an English template with the names of its parameters in braces."""
        return cls.of(template.format(**parameters) if parameters else template, code, parameters)

    @classmethod
    def of(cls, text: str, code: str, parameters: Mapping[str, Any]) -> Notice:
        """Return a notice whose English text is known."""
        notice = super().__new__(cls, text)
        notice.code, notice.parameters = code, parameters
        return notice

    @classmethod
    def read(cls, value: object) -> Notice:
        """Return a notice from its JSON, or from the plain text of a plugin."""
        table = value if isinstance(value, Mapping) else {"message": value or ""}
        message, parameters = table.get("message"), table.get("parameters") or {}
        if not isinstance(message, str) or not isinstance(parameters, Mapping):
            raise ValueError("a notice is a text, or a table of code, message and parameters")
        if isinstance(message, Notice):
            return message
        parameters = _map(parameters, lambda item: cls.read(item) if isinstance(item, Mapping) else item)
        return cls.of(message, str(table.get("code", "text")), parameters)

    @classmethod
    def several(cls, notices: Iterable[str]) -> Notice:
        """Return different notices as one."""
        parts = [cls.read(notice) for notice in dict.fromkeys(notices)]
        return parts[0] if len(parts) == 1 else cls.of("; ".join(parts), "several", {"parts": parts})

    @property
    def parts(self) -> list[Notice]:
        """The notices that this one joins, or itself."""
        return [*self.parameters.get("parts", [self])]

    def because(self, reason: str) -> Notice:
        """Return the notice with its reason in brackets."""
        return Notice.of(f"{self} ({reason})", self.code, {**self.parameters, "reason": reason})

    def without_reason(self) -> tuple[str, str]:
        """Return the text without its reason in brackets, and that reason, if it has one."""
        reason = self.parameters.get("reason", "")
        head = self.removesuffix(f" ({reason})")
        return (head, reason) if len(head) < len(self) else (f"{self}", "")

    def changed(self, change: Callable[[str], str]) -> Notice:
        """Return the notice with every text changed, such as by masking secrets."""

        def each(item: Any) -> Any:
            if isinstance(item, Notice):
                return item.changed(change)
            return change(item) if isinstance(item, str) else item

        return Notice.of(change(f"{self}"), self.code, _map(self.parameters, each))

    def data(self) -> dict[str, Any]:
        """Return the notice as JSON data."""
        parameters = _map(self.parameters, lambda item: item.data() if isinstance(item, Notice) else item)
        return {"code": self.code, "message": f"{self}", "parameters": parameters}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> CoreSchema:
        table = core_schema.nullable_schema(core_schema.dict_schema())
        to_json = core_schema.plain_serializer_function_ser_schema(
            lambda notice: cls.read(notice).data() if notice else None, return_schema=table, when_used="json"
        )
        return core_schema.no_info_before_validator_function(cls.read, core_schema.any_schema(), serialization=to_json)


def _map(parameters: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """Return parameters with each value changed, and each item of a list."""
    return {name: [*map(change, item)] if isinstance(item, list) else change(item) for name, item in parameters.items()}
