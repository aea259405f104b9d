from leadline.contracts import Call, Context
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import ChatReply, ChatRequest, Message, ModelTraits


class HouseSettings(PluginSettings):
    url: str


class HouseModel:
    def __init__(self, settings: HouseSettings, context: Context) -> None:
        self._http = context.http(base_url=settings.url, timeout=None)

    def traits(self, model: str, /) -> ModelTraits:
        return ModelTraits()

    async def chat(self, request: ChatRequest, call: Call, /) -> ChatReply:
        body = {"model": request.model, "messages": [{"role": m.role, "content": m.text} for m in request.messages]}
        reply = (await self._http.post("/chat/completions", json=body)).raise_for_status()
        return ChatReply(message=Message(role="assistant", text=reply.json()["choices"][0]["message"]["content"]))


@hookimpl
def leadline_ai_providers() -> Offers[HouseModel]:
    yield Offer(HouseModel, HouseSettings, "Our own chat server", priced=True)
