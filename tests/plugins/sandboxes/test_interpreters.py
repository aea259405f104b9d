"""Replies from a sandbox: what code wrote is read with care, and blamed on the code."""

from __future__ import annotations

import json
from typing import Any

import pytest

from leadline.encoding import encode
from leadline.records import Execution
from leadline_plugins.sandboxes.interpreters import decode_reply


def reply(value: str, **more: Any) -> bytes:
    fields = {"stdout": "", "stderr": "", "value": value, "exit_code": 0, "seconds": 0.1, "files": []}
    return json.dumps(fields | more).encode()


@pytest.mark.parametrize(
    "value",
    ["{", "1 2", "NaN", "[-Infinity]", "[" * 100_000, "[" * 101 + "]" * 101, "1" * 9000, '"', "\x00", "[1]\n[sandbox]"],
)
def test_a_value_that_is_no_json_is_the_fault_of_the_code(value: str) -> None:
    done = decode_reply(reply(value, stderr="Traceback"))
    assert (done.value, done.exit_code) == (None, 1)
    assert done.stderr.startswith("Traceback\n[sandbox] the code broke the way of its value")


@pytest.mark.parametrize("value", ["", "42", '{"a": [1, 2.5, null, true, "x"]}', "[" * 99 + "]" * 99, '"\\ud800"'])
def test_a_value_that_is_json_survives_the_journal(value: str) -> None:
    done = decode_reply(reply(value))
    assert (done.exit_code, done.stderr) == (0, "")
    assert encode(done, Execution)[1].exit_code == 0
