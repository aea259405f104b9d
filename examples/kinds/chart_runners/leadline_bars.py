from xml.sax.saxutils import escape

from leadline.plugin import Call, Chart, Figure, chart_runner


@chart_runner("Bars, as SVG")
class Bars:
    def accepts(self, language: str, /) -> bool:
        return language == "data"

    async def draw(self, chart: Chart, call: Call, /) -> Figure:
        bars = [(str(row["label"]), n) for row in chart.rows if isinstance(n := row["value"], int | float)]
        most = max((value for _, value in bars), default=0.0) or 1.0
        draw = '<rect y="{y}" width="{w:.1f}" height="18" fill="#468"/><text x="{x:.1f}" y="{t}">{label}</text>'
        sizes = [(i * 24, 300 * value / most, f"{label}: {value:g}") for i, (label, value) in enumerate(bars)]
        body = "".join(draw.format(y=y, w=w, x=w + 6, t=y + 14, label=escape(label)) for y, w, label in sizes)
        svg = f'<svg xmlns="http://www.w3.org/2000/svg" width="640" height="{24 * len(bars)}">{body}</svg>'
        shown = {"id": chart.id, "caption": chart.title, "alt": "; ".join(label for _, _, label in sizes) or "nothing"}
        return Figure(**shown, evidence_ids=chart.evidence_ids, media={"image/svg+xml": svg.encode()})
