import re

from leadline.plugin import EVIDENCE, Evidence, Findings, Key, Record, StageRun, map_stage


class Year(Record):
    id: str
    year: int


YEARS: Key[tuple[Year, ...]] = Key("years.found", Year, grows=True, file="years.json")


@map_stage("Finds the years", over=EVIDENCE, gives=YEARS)
class Years:
    async def map(self, item: Evidence, findings: Findings, run: StageRun, /) -> list[Year]:
        return [Year(id=item.id, year=int(year)) for year in re.findall(r"\b(?:1[5-9]|20)\d\d\b", item.quote)[:1]]
