"""Counters in the text format of Prometheus. No label names a user, a run or a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from leadline.runs import Metadata

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_COUNTERS = {
    "leadline_http_requests_total": "Requests by route and status.",
    "leadline_runs_total": "Runs that ended, by status.",
    "leadline_run_seconds_total": "Wall time of the runs that ended.",
    "leadline_calls_total": "Calls of the runs that ended, by kind and provider.",
    "leadline_tokens_total": "Tokens of the runs that ended, by kind.",
    "leadline_cost_dollars_total": "Known cost of the runs that ended, in USD.",
    "leadline_claims_total": "Checked claims of the runs that ended, by verdict.",
}
_GAUGES = {
    "leadline_runs_active": "Runs that are active.",
    "leadline_streams_open": "Open streams of events.",
}
# Of `metadata.usage`.
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
Labels = tuple[tuple[str, str], ...]


class Metrics:
    """What happened since the server started."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Labels]] = Counter()

    def add(self, name: str, value: float = 1, /, **labels: str) -> None:
        """Add to a counter."""
        self._counts[name, tuple(sorted(labels.items()))] += value  # type: ignore[assignment]

    def add_run(self, run: Metadata) -> None:
        """Count a run that has ended."""
        self.add("leadline_runs_total", status=run.status)
        self.add("leadline_run_seconds_total", run.seconds)
        for call, count in run.calls.items():
            kind, _, provider = call.partition("/")
            self.add("leadline_calls_total", count, kind=kind, provider=provider)
        for kind in _TOKENS:
            self.add("leadline_tokens_total", _number(run.usage, kind), kind=kind)
        self.add("leadline_cost_dollars_total", _number(run.usage, "cost"))
        claims = run.verification.get("claims")
        claims = claims if isinstance(claims, dict) else {}
        for verdict in claims:
            self.add("leadline_claims_total", _number(claims, verdict), verdict=verdict)

    def text(self, **gauges: int) -> str:
        """Return the page; `gauges` by name without the prefix `leadline_`."""
        lines: list[str] = []
        for name, about in _COUNTERS.items():
            samples = ((labels, value) for (counter, labels), value in sorted(self._counts.items()) if counter == name)
            lines += _metric(name, "counter", about, samples)
        for name, about in _GAUGES.items():
            lines += _metric(name, "gauge", about, [((), gauges[name.removeprefix("leadline_")])])
        return "\n".join([*lines, ""])


def _metric(name: str, kind: str, about: str, samples: Iterable[tuple[Labels, float]]) -> list[str]:
    return [
        f"# HELP {name} {about}",
        f"# TYPE {name} {kind}",
        *(f"{name}{_written(labels)} {value:g}" for labels, value in samples),
    ]


def _written(labels: Labels) -> str:
    pairs = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(values: Mapping[str, object], key: str) -> float:
    value = values.get(key)
    try:
        return float(value) if isinstance(value, int | float | str) else 0.0
    except ValueError:
        return 0.0
