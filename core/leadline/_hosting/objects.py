"""Engines and models that are objects of the program: `Client(engines={"kb": retriever})`.

The program owns an object: it is neither entered nor closed, and no other run reuses its replies.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.metadata import EntryPoint
from types import ModuleType
from typing import Any

from leadline._hosting.loading import Unpackaged
from leadline.errors import UsageError
from leadline.hookspecs import ALL, PRINCIPAL, Offer, ai_provider, search_provider
from leadline.records import ChatReply, ChatRequest, Hit, Message, ModelTraits

# The distribution of such plugins, in errors and in `Order.plugins`.
OBJECT = "object"
_CACHE_KEY = (ALL, PRINCIPAL)
_KINDS: Mapping[str, tuple[str, Offer[Any]]] = {
    "engines": ("search", search_provider("An engine of the program", cache_key=_CACHE_KEY)),
    "models": ("chat", ai_provider("A model of the program", cache_key=_CACHE_KEY)),
}


def points_of(argument: str, objects: Mapping[str, Any]) -> list[EntryPoint]:
    """Return the entry points of objects or functions that an argument of `Client` has. Raises `UsageError`."""
    method, decorate = _KINDS[argument]
    made = []
    for name, given in objects.items():
        if not hasattr(given, method) and not callable(given):
            raise UsageError(f"{argument}: {name!r} has no method `{method}` and is no function")
        provider = given if hasattr(given, method) else _OfFunction(name, given)
        module = ModuleType(f"leadline_object_{name}_{id(given):x}")
        methods = {name: getattr(provider, name) for name in (method, "traits") if hasattr(provider, name)}
        # A class with the methods alone, so that the object of the program is not entered.
        provider_class = type("Provider", (), {name: staticmethod(value) for name, value in methods.items()})
        vars(module)["make"] = decorate(provider_class)
        sys.modules[module.__name__] = module
        made.append(Unpackaged(OBJECT, "of this program").point(name, f"{module.__name__}:make"))
    return made


class _OfFunction:
    """A provider of a function: of a query to texts, hits or their fields; or of a prompt to a reply."""

    def __init__(self, name: str, function: Callable[[str], Any]) -> None:
        self._name = name
        self._function = function

    async def _call(self, text: str) -> Any:
        if inspect.iscoroutinefunction(self._function):
            return await self._function(text)
        import asyncio  # here: loading settings needs no event loop

        return await asyncio.to_thread(self._function, text)

    async def search(self, request: Any, call: Any, /) -> list[Hit]:
        """Return what the function finds."""
        return [self._hit(item) for item in list(await self._call(request.query))[: request.limit]]

    def _hit(self, item: Any) -> Hit:
        if isinstance(item, str):
            address = f"{self._name}:{sha256(item.encode()).hexdigest()[:16]}"
            return Hit(url=address, title=item.strip().partition("\n")[0][:80], text=item)
        return item if isinstance(item, Hit) else Hit(**item)

    def traits(self, model: str, /) -> ModelTraits:
        """Return the traits of a model that writes text alone."""
        return ModelTraits(model=model or self._name)

    async def chat(self, request: ChatRequest, call: Any, /) -> ChatReply:
        """Return the reply of the function to all messages."""
        text = await self._call("\n\n".join(message.text for message in request.messages))
        return ChatReply(message=Message(role="assistant", text=text), model=request.model or self._name)
