from leadline.plugin import Call, Context, Hit, PluginSettings, SearchRequest, SecretStr, search_provider


class HandbookSettings(PluginSettings):
    url: str
    token: SecretStr


@search_provider("The company handbook", settings=HandbookSettings, env={"token": "HANDBOOK_TOKEN"})
class Handbook:
    def __init__(self, settings: HandbookSettings, context: Context) -> None:
        headers = {"Authorization": f"Bearer {settings.token.get_secret_value()}"}
        self._http = context.http(base_url=settings.url, headers=headers)

    async def search(self, request: SearchRequest, call: Call, /) -> list[Hit]:
        reply = await self._http.get("/search", params={"q": request.query, "limit": request.limit})
        return [Hit(**page) for page in reply.raise_for_status().json()["pages"]]
