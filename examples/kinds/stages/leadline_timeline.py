from leadline_years import YEARS

from leadline.plugin import REPORT, Findings, Section, StageRun, stage


@stage("A timeline", needs=(REPORT,), wants=(YEARS,), gives=(REPORT,))
class Timeline:
    async def run(self, findings: Findings, run: StageRun, /) -> None:
        report = findings[REPORT]
        quotes = {item.id: " ".join(item.quote.split()) for item in report.evidence}
        years = sorted((year.year, year.id) for year in findings[YEARS] if year.id in quotes)
        text = "\n".join(f"- {year}: {quotes[name]} [@{name}]" for year, name in years)
        section = Section(id="timeline", title="Timeline", text=text, evidence_ids=tuple(name for _, name in years))
        if years:
            findings[REPORT] = report.model_copy(update={"sections": (*report.sections, section)})
