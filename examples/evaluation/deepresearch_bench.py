"""Answer the questions of a benchmark: a file of `{"id", "prompt"}` lines in, one of `{"id", "prompt", "article"}` out.

    python examples/evaluation/deepresearch_bench.py query.jsonl leadline.jsonl [SETTINGS.toml]

These are the files of the public evaluator of DeepResearch Bench. Run it again after an interruption: questions with an
answer are skipped, and interrupted runs go on where they were. Articles are Markdown reports with their sources.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import leadline
from leadline.runs import Order

AT_ONCE = 4


def rows(file: Path) -> list[dict[str, Any]]:
    """Return the JSON lines of a file; none if it does not exist."""
    return [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()] if file.exists() else []


async def main(questions: Path, answers: Path, settings: Path | None = None) -> int:
    """Append the missing answers; return how many questions have none."""
    done = {row["id"] for row in rows(answers)}
    orders = answers.with_name(f"{answers.name}.orders")
    orders.mkdir(exist_ok=True)
    async with leadline.Client(settings=settings, set={"report.formats": ["markdown"]}) as client:
        gate = asyncio.Semaphore(AT_ONCE)

        async def answer(row: dict[str, Any]) -> bool:
            async with gate:
                order = orders / f"{row['id']}.json"
                if not order.exists():  # an order is kept before its run begins, so that no run is paid for twice
                    order.write_text(client.order(row["prompt"]).model_dump_json(), "utf-8")
                handle = await client.run(Order.model_validate_json(order.read_text("utf-8")))
                handle.events().close()
                result = await handle.result()
            if result.report is None:
                print(f"{row['id']}: {result.status}: {result.reason}", file=sys.stderr)
                return False
            article = (result.folder / "report.md").read_text("utf-8")
            line = json.dumps({"id": row["id"], "prompt": row["prompt"], "article": article}, ensure_ascii=False)
            with answers.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
            return True

        answered = await asyncio.gather(*(answer(row) for row in rows(questions) if row["id"] not in done))
    return answered.count(False)


if __name__ == "__main__":
    sys.exit(bool(asyncio.run(main(*map(Path, sys.argv[1:])))))
