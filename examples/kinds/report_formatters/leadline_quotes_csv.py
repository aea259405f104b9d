import csv
import io

from leadline.contracts import Call
from leadline.hookspecs import Offer, Offers, PluginSettings, hookimpl
from leadline.records import Blob, Files, Report


class QuotesCsv:
    async def format(self, report: Report, call: Call, /) -> Files:
        hits = {source.id: source.hit for source in report.sources}
        cited = {name for section in report.sections for name in section.evidence_ids}
        rows = [(item.quote, hits[item.source_id]) for item in report.evidence if item.id in cited]
        table = io.StringIO(newline="")
        csv.writer(table).writerows([("quote", "title", "url"), *((quote, hit.title, hit.url) for quote, hit in rows)])
        return Files(files=(Blob(name="quotes.csv", media_type="text/csv", data=table.getvalue().encode()),))


@hookimpl
def leadline_report_formatters() -> Offers[QuotesCsv]:
    yield Offer(lambda settings, context: QuotesCsv(), PluginSettings, "The quotes and their sources, as CSV")
