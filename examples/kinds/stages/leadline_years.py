import re

from leadline.contracts import MapStage, Run
from leadline.findings import Findings, Key
from leadline.hookspecs import MapOffer, Offers, PluginSettings, hookimpl
from leadline.records import Evidence, Record
from leadline.research_findings import EVIDENCE


class Year(Record):
    id: str
    year: int


YEARS: Key[tuple[Year, ...]] = Key("years.found", Year, grows=True, file="years.json")


class Years:
    async def map(self, item: Evidence, findings: Findings, run: Run, /) -> list[Year]:
        return [Year(id=item.id, year=int(year)) for year in re.findall(r"\b(?:1[5-9]|20)\d\d\b", item.quote)[:1]]


@hookimpl
def leadline_stages() -> Offers[MapStage[Evidence, Year]]:
    yield MapOffer(lambda *_: Years(), PluginSettings, "Finds the years", over=EVIDENCE, gives=YEARS)
