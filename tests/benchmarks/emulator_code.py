"""The programs of the emulator's model: the first fails as the request says, the corrected one works."""

from __future__ import annotations

from collections.abc import Mapping

GOOD = """
total = sum(n * n for n in range(1, 101))
print("sum of squares:", total)
with open("squares.csv", "w") as file:
    file.write("n,square\\n" + "".join(f"{n},{n * n}\\n" for n in range(1, 101)))
total
""".strip()
FAILING: Mapping[str, str] = {
    "memory": "print('start')\nheld = bytearray(4_000_000_000)",
    "time": "print('start', flush=True)\nwhile True:\n    pass",
    "network": "import socket\nsocket.create_connection(('192.0.2.1', 80), 2)",
    "write": "open('/program.py', 'w')",
    "": "print('start')\ntotal = sum(n * n for n in range(1, 101)) / 0",
}
"""What goes wrong at first, by a word of the request."""


def program(request: str, *, repair: bool) -> dict[str, str]:
    """Return the reply of the task `code`."""
    failing = next(text for word, text in FAILING.items() if word in request)
    return {
        "title": "Sum of a hundred squares",
        "explanation": "It adds up the squares of the numbers and saves them as a table.",
        "code": GOOD if repair else failing,
    }
