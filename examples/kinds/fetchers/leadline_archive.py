from leadline.plugin import Blob, Call, Context, FetchRequest, PluginSettings, fetcher


class ArchiveSettings(PluginSettings):
    url: str


@fetcher("Web pages through our archive", settings=ArchiveSettings)
class Archive:
    def __init__(self, settings: ArchiveSettings, context: Context) -> None:
        self._http = context.http(base_url=settings.url)

    def accepts(self, url: str, /) -> bool:
        return url.startswith(("https://", "http://"))

    async def fetch(self, request: FetchRequest, call: Call, /) -> Blob:
        page = (await self._http.get("/page", params={"url": request.url})).raise_for_status()
        return Blob(name=request.url, media_type=page.headers["content-type"], data=page.content)
