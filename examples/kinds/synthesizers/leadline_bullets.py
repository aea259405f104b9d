from leadline.contracts import Call
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Section, SectionRequest


class BulletSettings(PluginSettings):
    at_most: int = 5


class Bullets:
    def __init__(self, settings: BulletSettings) -> None:
        self._at_most = settings.at_most

    async def synthesize(self, request: SectionRequest, call: Call, /) -> Section:
        best = request.evidence[: self._at_most]
        lines = (f"- {' '.join(item.quote.split())} [@{item.id}]" for item in best)
        return request.section.model_copy(update={"text": "\n".join(lines)})


@hookimpl
def leadline_synthesizers() -> Offers[Bullets]:
    yield Offer(lambda settings, context: Bullets(settings), BulletSettings, "Sections as lists of quotes")
