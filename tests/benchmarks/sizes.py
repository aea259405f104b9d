"""Print how large the code is, by package: `make sizes`.

Lines are those of the files; statements are counted in the syntax tree, without docstrings. The directions beside them
are where the sizes should go: no test fails by a count, because people then write around it. A handler of
BaseException is an `except` clause that also takes cancellations and exits. The figures of a question are those of
`reading_path.py`.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TREES = ("core", "plugins", "contrib")
DIRECTIONS = {"core": 15_000, "core plugins contrib": 50_000}
QUESTION = "direction: a question passes at most 70 files"


@dataclass
class Size:
    """The size of some files."""

    files: int = 0
    lines: int = 0
    statements: int = 0
    handlers: int = 0

    def add(self, other: Size) -> None:
        """Add the size of other files."""
        self.files += other.files
        self.lines += other.lines
        self.statements += other.statements
        self.handlers += other.handlers


def measure(source: str) -> Size:
    """Return the size of one file."""
    size = Size(files=1, lines=source.count("\n"))
    for node in ast.walk(ast.parse(source)):
        size.statements += isinstance(node, ast.stmt) and not _is_text(node)
        size.handlers += isinstance(node, ast.ExceptHandler) and _takes_all(node.type)
    return size


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _takes_all(caught: ast.expr | None) -> bool:
    if isinstance(caught, ast.Tuple):
        return any(_takes_all(item) for item in caught.elts)
    return caught is None or (isinstance(caught, ast.Name) and caught.id.startswith("BaseException"))


def rows_of(path: Path) -> Iterator[str]:
    """Yield the rows to which a file belongs: its tree, its package, its folder there, and all code."""
    parts = path.relative_to(ROOT).parts
    yield from (" ".join(TREES), parts[0])
    yield "/".join(parts[:2])
    yield "/".join(parts[:3]) if len(parts) > 3 else "/".join((*parts[:2], "*.py"))


def main() -> None:
    """Print the table and the figures of a question."""
    sizes: dict[str, Size] = {}
    for tree in TREES:
        for path in sorted((ROOT / tree).rglob("*.py")):
            if not any(part.startswith(".") or part in ("build", "dist") for part in path.relative_to(ROOT).parts):
                size = measure(path.read_text(encoding="utf-8"))
                for row in rows_of(path):
                    sizes.setdefault(row, Size()).add(size)
    print(f"{'':44}{'files':>7}{'lines':>9}{'statements':>12}{'BaseException':>15}{'direction':>11}")
    for name, size in sorted(sizes.items(), key=lambda item: (item[0] == " ".join(TREES), item[0].split("/"))):
        direction = f"{DIRECTIONS[name]:,}" if name in DIRECTIONS else ""
        indented = "  " * name.count("/") + name
        print(f"{indented:44}{size.files:7,}{size.lines:9,}{size.statements:12,}{size.handlers:15,}{direction:>11}")
    question = [sys.executable, str(ROOT / "tests" / "benchmarks" / "reading_path.py")]
    result = subprocess.run(question, capture_output=True, text=True)
    print(f"\n{result.stdout or result.stderr}{QUESTION}")


if __name__ == "__main__":
    main()
