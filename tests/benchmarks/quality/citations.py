"""How well the citations of real reports are read: addresses, marks, entries.

    python tests/benchmarks/quality/citations.py [--counted counts.json] [--out predictions.jsonl]

The data lies in $LEADLINE_DATA, the scorers in $LEADLINE_SCORE. `--counted` is {report id: marks} as a person counted
them; without it marks are counted by another way than the parser's: in the text above the list of sources, with
code taken out, every number in brackets, ranges spelt out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from leadline_plugins.citing import CitedReport, read

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("LEADLINE_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("LEADLINE_SCORE", DATA.parent / "eval" / "score"))
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_MARK = re.compile(r"[\[【](\^?\d{1,3}(?:[,;，–-]\s*\^?\d{1,3})*)[\]】](?!:)")


def keys(report: CitedReport) -> list[str]:
    """Return the numbers that the marks of a report name."""
    return [key.lstrip("^") for mark in report.marks for key in mark.keys if key.lstrip("^").isdigit()]


def prediction(name: str, report: CitedReport) -> dict[str, Any]:
    """Return what the scorer reads."""
    entries = {key: (entry.urls or ("",))[0] for key, entry in report.entries.items()}
    return {
        "id": name,
        "urls": list(report.urls),
        "markers": [int(key) for key in keys(report)],
        "references": entries,
    }


def counted(markdown: str) -> Iterator[int]:
    """Yield the numbers that stand in brackets within lines, by plain patterns."""
    for line in _CODE.sub("", markdown).splitlines():
        entry = re.match(r"\s*(?:[-*]\s+)?[\[【]\^?\d{1,3}[\]】]:?\s*\S{2}", line)
        if entry and (re.search(r"https?://", line) or not re.match(r"\s*(?:[\[【]\d+[\]】]\s*)+$", line)):
            continue
        for match in _MARK.finditer(line):
            for part in re.split(r"[,;，]\s*", match.group(1)):
                first, _, last = part.lstrip("^").replace("–", "-").partition("-")
                yield from range(int(first), int(last.lstrip("^") or first) + 1 if last else int(first) + 1)


def main() -> None:
    """Read the reports, score, and compare the marks with a count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counted", type=Path, help="marks by report id, as counted by hand")
    parser.add_argument("--out", type=Path, help="where the predictions go, one a line")
    args = parser.parse_args()
    sys.path.insert(0, str(SCORE))
    scorer = importlib.import_module("citeparse")
    rows = [json.loads(line) for line in (DATA / "reports" / "reports.jsonl").open()]
    reports = {row["id"]: read(row["markdown"]) for row in rows}
    said = [prediction(name, report) for name, report in reports.items()]
    if args.out:
        args.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in said))
    print(json.dumps(scorer.score(rows, said), indent=1))
    known = json.loads(args.counted.read_text()) if args.counted else {}
    right = total = 0
    for row in rows:
        report = reports[row["id"]]
        mine = keys(report)
        there = known.get(row["id"], len(list(counted(row["markdown"]))))
        resolved = sum(report.entry(key) is not None for key in mine)
        if there and (not known or row["id"] in known):
            right, total = right + min(resolved, there), total + max(there, len(mine))
            if there != resolved:
                print(f"{row['id']}: {there} counted, {len(mine)} found, {resolved} resolved")
    print(f"marks resolved to their entry: {right} of {total}, {right / max(1, total):.4f}")


if __name__ == "__main__":
    main()
