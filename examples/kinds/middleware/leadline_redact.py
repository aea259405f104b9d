import re
from collections.abc import Awaitable, Callable
from typing import Any

from leadline.contracts import Call
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import SearchRequest

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")


class Redact:
    live = True

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        if isinstance(request, SearchRequest):
            request = request.model_copy(update={"query": ADDRESS.sub("", request.query)})
        return await proceed(request)


@hookimpl
def leadline_middleware() -> Offers[Redact]:
    yield Offer(lambda settings, context: Redact(), PluginSettings, "No e-mail addresses in searches")
