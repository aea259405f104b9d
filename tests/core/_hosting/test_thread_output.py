"""What a thread prints while it loads plugins goes to standard error, without an effect on other threads."""

from __future__ import annotations

import sys
import threading

import pytest

from leadline._hosting.thread_output import printing_to_stderr


def test_only_the_thread_that_loads_plugins_prints_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    before, inside, leave = sys.stdout, threading.Barrier(3), [threading.Event(), threading.Event()]

    def load(number: int) -> None:
        with printing_to_stderr():
            inside.wait(10)
            print(f"plugin {number}")
            leave[number].wait(10)

    threads = [threading.Thread(target=load, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    inside.wait(10)
    print("result")
    for event, thread in zip(leave, threads, strict=True):  # the first to enter may be the first to leave
        event.set()
        thread.join(10)
    assert sys.stdout is before
    print("end")
    told = capsys.readouterr()
    assert told.out == "result\nend\n"
    assert sorted(told.err.splitlines()) == ["plugin 0", "plugin 1"]
