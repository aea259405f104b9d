from leadline.plugin import Context, Event, PluginSettings, observer


class WebhookSettings(PluginSettings):
    url: str


@observer("Tells an address how every run ended", settings=WebhookSettings)
class Webhook:
    def __init__(self, settings: WebhookSettings, context: Context) -> None:
        self._url, self._http = settings.url, context.http()

    async def observe(self, event: Event, /) -> None:
        if event.kind == "run.finished":
            reply = await self._http.post(self._url, json={"run": event.run_id, **event.data})
            reply.raise_for_status()
