from leadline.plugin import Call, PluginSettings, Section, Synthesis, SynthesisRequest, synthesizer


class BulletSettings(PluginSettings):
    at_most: int = 5


@synthesizer("Sections as lists of quotes", settings=BulletSettings)
class Bullets:
    def __init__(self, settings: BulletSettings) -> None:
        self._at_most = settings.at_most

    async def synthesize(self, request: SynthesisRequest, call: Call, /) -> Synthesis:
        return Synthesis(sections=tuple(self._written(request, section) for section in request.wanted))

    def _written(self, request: SynthesisRequest, section: Section) -> Section:
        best = request.book.passages(section)[: self._at_most]
        lines = (f"- {' '.join(item.quote.split())} [@{item.id}]" for item in best)
        return section.model_copy(update={"text": "\n".join(lines)})
