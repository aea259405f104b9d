"""The filter of system calls, run by an interpreter of classic BPF for machines that are not here too."""

from __future__ import annotations

import errno
import os
import platform
import struct
from pathlib import Path

import pytest

from leadline_plugins.sandboxes import bubblewrap
from leadline_plugins.sandboxes.seccomp import ARCHITECTURES, program

ALLOWED, KILLED = 0x7FFF0000, 0x80000000


def answer(machine: str, number: int, first: int = 0, audit: int = 0) -> int:
    """Return what the filter returns for a call: `ALLOWED`, `KILLED` or an error number."""
    code = program(machine)
    assert code
    data = {0: number, 4: audit or ARCHITECTURES[machine].audit, 16: first}
    lines: list[tuple[int, int, int, int]] = list(struct.iter_unpack("=HBBI", code))
    place = word = 0
    while True:
        kind, if_true, if_false, value = lines[place]
        place += 1
        if kind == 0x20:
            word = data[value]
        elif kind == 0x06:
            return value if value in (ALLOWED, KILLED) else value & 0xFFFF
        else:
            holds = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[kind]
            place += if_true if holds else if_false


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_the_filter_denies_calls_that_code_does_not_need(machine: str) -> None:
    here = ARCHITECTURES[machine]
    for name, number in here.denied.items():
        assert answer(machine, number) == errno.EPERM, name
    special = {*here.denied.values(), here.clone, here.clone3, here.socket}
    for number in sorted({*range(468)} - special):
        assert answer(machine, number, first=0xFFFFFFFF) == ALLOWED, number
    for number in (468, 9999, 0x40000000, 0xFFFFFFFF, here.clone3):
        assert answer(machine, number) == errno.ENOSYS, number


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_a_process_may_start_others_but_no_namespace(machine: str) -> None:
    here = ARCHITECTURES[machine]
    threads = 0x100 | 0x200 | 0x400 | 0x800 | 0x10000 | 0x40000 | 0x80000 | 0x100000 | 0x200000 | 0x1000000
    for flags in (17, 0x4111, threads):
        assert answer(machine, here.clone, flags) == ALLOWED
    for flags in (0x80, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert answer(machine, here.clone, flags | 17) == errno.EPERM


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_only_usual_sockets_are_made(machine: str) -> None:
    allowed = [kind for kind in range(64) if answer(machine, ARCHITECTURES[machine].socket, kind) == ALLOWED]
    assert allowed == [1, 2, 10, 16]
    assert answer(machine, ARCHITECTURES[machine].socket, 40) == errno.EAFNOSUPPORT


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_calls_of_another_architecture_end_the_process(machine: str) -> None:
    """By `int 0x80` a process of x86-64 makes calls of i386, whose numbers are others."""
    assert answer(machine, 0, audit=0x40000003) == KILLED


def test_a_machine_whose_calls_are_not_listed_is_refused_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    assert program("riscv64") is None
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    reason = "bubblewrap has no filter of system calls for riscv64 here: use plugins.docker"
    assert bubblewrap.ready(bubblewrap.BubblewrapSettings()) == reason


@pytest.mark.parametrize(("help_text", "known"), [("--seccomp FD", False), ("  --disable-userns  Disable", True)])
async def test_an_older_bubblewrap_is_run_without_the_option_that_it_lacks(
    help_text: str, known: bool, tmp_path: Path
) -> None:
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{help_text}'\n")
    program.chmod(0o755)
    assert await bubblewrap._disables_namespaces(str(program)) is known
