import re
from collections.abc import Awaitable, Callable
from typing import Any

from leadline.plugin import Call, SearchRequest, middleware

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")


@middleware("No e-mail addresses in searches")
class Redact:
    live = True

    async def around(self, request: Any, call: Call, proceed: Callable[[Any], Awaitable[Any]], /) -> Any:
        if isinstance(request, SearchRequest):
            request = request.model_copy(update={"query": ADDRESS.sub("", request.query)})
        return await proceed(request)
