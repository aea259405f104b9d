"""How well the citations of real reports are read: addresses, marks, entries.

    python tests/benchmarks/quality/citations.py [--counted FILE] [--out predictions.jsonl] [--show]

The data lies in $EVAL_DATA, the scorers in $EVAL_SCORE. Marks are held against two counts: those of
`counted_marks.json` beside this file, counted by reading (its head tells how), where each mark must point at the right
entry; and, over all reports, one by another way than the parser's: in the text above the list of sources, with code
taken out, every number in brackets, ranges spelt out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from hashlib import blake2b
from pathlib import Path
from typing import Any

from leadline_plugins.verification.reports.marks import Mark
from leadline_plugins.verification.reports.reader import CitedReport, read_report

ROOT = Path(__file__).resolve().parents[3]
DATA = Path(os.environ.get("EVAL_DATA", ROOT.parent / "shared" / "data"))
SCORE = Path(os.environ.get("EVAL_SCORE", DATA.parent / "eval" / "score"))
COUNTED = Path(__file__).with_name("counted_marks.json")
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


# --- against the count by reading ------------------------------------------------------------------------------------


def digest(url: str) -> str:
    """Return the hash of an address as the counted marks have it; `-` where there is none."""
    return blake2b(url.rstrip("/").encode(), digest_size=4).hexdigest() if url else "-"


def expected(counts: Mapping[str, str]) -> list[str]:
    """Return what each counted mark points at: `number:hash` of an entry, `u:hash` of an address, or `-`."""
    entries = dict(enumerate(counts["entries"].split(), 1))
    targets = [target for mark in counts["marks"].split() for target in mark.split("+")]
    return [f"{one}:{entries[int(one)]}" if one.isdigit() and int(one) in entries else _other(one) for one in targets]


def _other(target: str) -> str:
    return f"u:{target[1:]}" if target.startswith("u") else "-"


def pointers(report: CitedReport) -> list[str]:
    """Return what each mark of a report was resolved to, in the same form."""
    return [target for mark in report.marks for target in _targets(report, mark)]


def _targets(report: CitedReport, mark: Mark) -> Iterator[str]:
    for key in mark.keys:
        entry = report.entry(key)
        url = digest((entry.urls or ("",))[0]) if entry else "-"
        number = key.lstrip("^")
        yield "-" if entry is None else f"{number if number.isdigit() else 'u'}:{url}"
    if mark.url:
        yield f"u:{digest(mark.url)}"


def agreeing(expected: Sequence[str], found: Sequence[str]) -> int:
    """Return how many stand in both, in the same order."""
    matcher = SequenceMatcher(None, expected, found, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def by_reading(reports: Mapping[str, CitedReport], counted: Path, *, show: bool) -> None:
    """Print how many of the marks that were counted by reading point at the right entry."""
    right = there = mine = 0
    for name, counts in json.loads(counted.read_text())["reports"].items():
        wanted, got = expected(counts), pointers(reports[name])
        same = agreeing(wanted, got)
        right, there, mine = right + same, there + len(wanted), mine + len(got)
        print(f"{name}: {len(wanted)} counted, {len(got)} found, {same} right")
        for tag, i, j, k, m in SequenceMatcher(None, wanted, got, autojunk=False).get_opcodes() if show else ():
            if tag != "equal":
                print(f"    {tag} at {i}: {wanted[i:j]} -> {got[k:m]}")
    print(f"by reading: {right} of {there} right, recall {right / there:.4f}, precision {right / mine:.4f}")


def by_pattern(rows: Sequence[Mapping[str, Any]], reports: Mapping[str, CitedReport]) -> None:
    """Print how many of the marks that plain patterns find are found and resolved."""
    right = total = 0
    for row in rows:
        report = reports[row["id"]]
        mine = keys(report)
        there = len(list(counted(row["markdown"])))
        resolved = sum(report.entry(key) is not None for key in mine)
        if there:
            right, total = right + min(resolved, there), total + max(there, len(mine))
            if there != resolved:
                print(f"{row['id']}: {there} counted, {len(mine)} found, {resolved} resolved")
    print(f"by pattern: {right} of {total} resolved to their entry, {right / max(1, total):.4f}")


def main() -> None:
    """Read the reports, score, and compare the marks with both counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--counted", type=Path, default=COUNTED, help="marks by report id, as counted by reading")
    parser.add_argument("--out", type=Path, help="where the predictions go, one a line")
    parser.add_argument("--show", action="store_true", help="say where a mark differs from its count")
    args = parser.parse_args()
    sys.path.insert(0, str(SCORE))
    scorer = importlib.import_module("citeparse")
    rows = [json.loads(line) for line in (DATA / "reports" / "reports.jsonl").open()]
    reports = {row["id"]: read_report(row["markdown"]) for row in rows}
    said = [prediction(name, report) for name, report in reports.items()]
    if args.out:
        args.out.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in said))
    print(json.dumps(scorer.score(rows, said), indent=1))
    by_pattern(rows, reports)
    by_reading(reports, args.counted, show=args.show)


if __name__ == "__main__":
    main()
