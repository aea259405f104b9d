from leadline.plugin import Call, ChatReply, ChatRequest, Context, Message, ModelTraits, PluginSettings, ai_provider


class HouseSettings(PluginSettings):
    url: str


@ai_provider("Our own chat server", settings=HouseSettings, priced=True)
class HouseModel:
    def __init__(self, settings: HouseSettings, context: Context) -> None:
        self._http = context.http(base_url=settings.url)

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        body = {"model": request.model, "messages": [{"role": m.role, "content": m.text} for m in request.messages]}
        reply = (await self._http.post("/chat/completions", json=body)).raise_for_status()
        return ChatReply(message=Message(role="assistant", text=reply.json()["choices"][0]["message"]["content"]))
