import csv
import io

from leadline.plugin import Blob, Call, Files, Report, report_formatter


@report_formatter("The quotes and their sources, as CSV")
class QuotesCsv:
    async def format(self, report: Report, call: Call, /) -> Files:
        hits = {source.id: source.hit for source in report.sources}
        cited = {name for section in report.sections for name in section.evidence_ids}
        rows = [(item.quote, hits[item.source_id]) for item in report.evidence if item.id in cited]
        table = io.StringIO(newline="")
        csv.writer(table).writerows([("quote", "title", "url"), *((quote, hit.title, hit.url) for quote, hit in rows)])
        return Files(files=(Blob(name="quotes.csv", media_type="text/csv", data=table.getvalue().encode()),))
