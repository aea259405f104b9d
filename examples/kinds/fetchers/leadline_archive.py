from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Blob, FetchRequest


class ArchiveSettings(PluginSettings):
    url: str


class Archive:
    def __init__(self, settings: ArchiveSettings, context: Context) -> None:
        self._http = context.http(base_url=settings.url)

    def accepts(self, url: str, /) -> bool:
        return url.startswith(("https://", "http://"))

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        page = (await self._http.get("/page", params={"url": request.url})).raise_for_status()
        return Blob(name=request.url, media_type=page.headers["content-type"], data=page.content)


@hookimpl
def leadline_fetchers() -> Offers[Archive]:
    yield Offer(Archive, ArchiveSettings, "Web pages through our archive")
