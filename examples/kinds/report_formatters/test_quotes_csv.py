from leadline_quotes_csv import QuotesCsv

from leadline.testing.contracts import ReportFormatterContract


class TestQuotesCsv(ReportFormatterContract):
    tested = QuotesCsv
