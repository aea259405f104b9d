from leadline.contracts import Call
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Section, Synthesis, SynthesisRequest


class BulletSettings(PluginSettings):
    at_most: int = 5


class Bullets:
    def __init__(self, settings: BulletSettings) -> None:
        self._at_most = settings.at_most

    async def synthesize(self, request: SynthesisRequest, call: Call, /) -> Synthesis:
        return Synthesis(sections=tuple(self._written(request, section) for section in request.wanted))

    def _written(self, request: SynthesisRequest, section: Section) -> Section:
        best = request.book.passages(section)[: self._at_most]
        lines = (f"- {' '.join(item.quote.split())} [@{item.id}]" for item in best)
        return section.model_copy(update={"text": "\n".join(lines)})


@hookimpl
def leadline_synthesizers() -> Offers[Bullets]:
    yield Offer(lambda settings, context: Bullets(settings), BulletSettings, "Sections as lists of quotes")
