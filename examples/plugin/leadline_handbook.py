from pydantic import SecretStr

from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Hit, SearchPage, SearchRequest


class HandbookSettings(PluginSettings):
    url: str
    token: SecretStr


class Handbook:
    def __init__(self, settings: HandbookSettings, context: Context) -> None:
        headers = {"Authorization": f"Bearer {settings.token.get_secret_value()}"}
        self._http = context.http(base_url=settings.url, headers=headers)

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        reply = await self._http.get("/search", params={"q": request.query, "limit": request.limit})
        pages = reply.raise_for_status().json()["pages"]
        return SearchPage(hits=tuple(Hit(url=page["url"], title=page["title"], text=page["text"]) for page in pages))


@hookimpl
def leadline_search_providers() -> Offers[Handbook]:
    yield Offer(Handbook, HandbookSettings, "The company handbook", env={"token": "HANDBOOK_TOKEN"})
