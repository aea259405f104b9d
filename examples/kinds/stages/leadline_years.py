import re

from leadline import Key, MapOffer, PluginSettings, hookimpl
from leadline.contracts import MapStage, Run
from leadline.findings import EVIDENCE, Findings
from leadline.hookspecs import Offers
from leadline.records import Evidence, Record


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
