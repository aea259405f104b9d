"""A filter of system calls for code in bubblewrap, as a program of classic BPF for the kernel's seccomp.

It denies what containers deny: namespaces of one's own, the kernel's keys, BPF, tracing, mounts, performance counters,
io_uring, modules, clocks and unusual sockets. These parts of the kernel have had most of the holes through which
code left a sandbox, and no chart or computation needs them. It also denies memory that no limit of a process counts.
Sources: the kernel's tables of system calls (`syscall_64.tbl`, `asm-generic/unistd.h`) and `seccomp(2)`.
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterator
from dataclasses import dataclass

# Classic BPF: load a word of the call's data, compare, test bits, return.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
# CLONE_NEW…: time, mount, control group, host name, IPC, user, process, network.
_NEW_NAMESPACES = 0x80 | 0x20000 | 0x2000000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
# AF_UNIX, AF_INET, AF_INET6, AF_NETLINK; AF_VSOCK would reach the host of a virtual machine.
_SOCKETS = (1, 2, 10, 16)
# The first number after the calls of Linux 6.15. Later ones fail as on an old kernel, for which programs are prepared.
_UNKNOWN = 468

# Names and numbers that all architectures share.
_COMMON = {
    "pidfd_getfd": 438, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "mount_setattr": 442,
    "quotactl_fd": 443, "memfd_secret": 447, "open_tree_attr": 467,
}  # fmt: skip
_X86_64 = {
    "acct": 163, "add_key": 248, "bpf": 321, "chroot": 161, "clock_adjtime": 305, "clock_settime": 227,
    "create_module": 174, "delete_module": 176, "fanotify_init": 300, "finit_module": 313, "get_kernel_syms": 177,
    "init_module": 175, "ioperm": 173, "iopl": 172, "kcmp": 312, "kexec_file_load": 320, "kexec_load": 246,
    "keyctl": 250, "lookup_dcookie": 212, "modify_ldt": 154, "mount": 165, "name_to_handle_at": 303, "nfsservctl": 180,
    "open_by_handle_at": 304, "perf_event_open": 298, "pivot_root": 155, "process_vm_readv": 310,
    "process_vm_writev": 311, "ptrace": 101, "query_module": 178, "quotactl": 179, "reboot": 169, "request_key": 249,
    "setns": 308, "settimeofday": 164, "swapoff": 168, "swapon": 167, "_sysctl": 156, "sysfs": 139, "syslog": 103,
    "umount2": 166, "unshare": 272, "uselib": 134, "userfaultfd": 323, "ustat": 136, "vhangup": 153,
    "memfd_create": 319, "msgget": 68, "semget": 64, "shmget": 29,
}  # fmt: skip
_AARCH64 = {
    "acct": 89, "add_key": 217, "bpf": 280, "chroot": 51, "clock_adjtime": 266, "clock_settime": 112,
    "delete_module": 106, "fanotify_init": 262, "finit_module": 273, "init_module": 105, "kcmp": 272,
    "kexec_file_load": 294, "kexec_load": 104, "keyctl": 219, "lookup_dcookie": 18, "mount": 40,
    "name_to_handle_at": 264, "nfsservctl": 42, "open_by_handle_at": 265, "perf_event_open": 241, "pivot_root": 41,
    "process_vm_readv": 270, "process_vm_writev": 271, "ptrace": 117, "quotactl": 60, "reboot": 142,
    "request_key": 218, "setns": 268, "settimeofday": 170, "swapoff": 225, "swapon": 224, "syslog": 116,
    "umount2": 39, "unshare": 97, "userfaultfd": 282, "vhangup": 58,
    "memfd_create": 279, "msgget": 186, "semget": 190, "shmget": 194,
}  # fmt: skip


@dataclass(frozen=True)
class Architecture:
    """The numbers of one machine: its audit number, its system calls, and those whose arguments are looked at."""

    audit: int
    denied: dict[str, int]
    clone: int
    socket: int
    clone3: int = 435


ARCHITECTURES = {
    "x86_64": Architecture(0xC000003E, _X86_64 | _COMMON, clone=56, socket=41),
    "aarch64": Architecture(0xC00000B7, _AARCH64 | _COMMON, clone=220, socket=198),
}


def program(machine: str = "") -> bytes | None:
    """Return the filter for a machine, by default this one; None for one whose system calls are not listed here."""
    architecture = ARCHITECTURES.get(machine or platform.machine())
    return b"".join(_instructions(architecture)) if architecture else None


def _instructions(architecture: Architecture) -> Iterator[bytes]:
    """Yield the instructions; a jump skips so many of them if its comparison holds, and so many if not."""
    yield _instruction(_LOAD, _ARCHITECTURE)
    yield from _return_unless(_EQUAL, architecture.audit, _KILL)  # calls of another architecture have other numbers
    yield _instruction(_LOAD, _NUMBER)
    # Also x32's, which begin at 0x40000000. `clone3` has its flags in memory, where a filter cannot see them.
    yield from _return_if(_AT_LEAST, _UNKNOWN, _ERROR | errno.ENOSYS)
    yield from _return_if(_EQUAL, architecture.clone3, _ERROR | errno.ENOSYS)
    for number in sorted(architecture.denied.values()):
        yield from _return_if(_EQUAL, number, _ERROR | errno.EPERM)
    yield _instruction(_EQUAL, architecture.clone, 0, 4)
    yield _instruction(_LOAD, _FIRST_ARGUMENT)
    yield from _return_if(_ANY_BIT, _NEW_NAMESPACES, _ERROR | errno.EPERM)
    yield _instruction(_RETURN, _ALLOW)
    yield _instruction(_EQUAL, architecture.socket, 0, len(_SOCKETS) + 2)
    yield _instruction(_LOAD, _FIRST_ARGUMENT)
    for index, family in enumerate(_SOCKETS):
        yield _instruction(_EQUAL, family, len(_SOCKETS) - index, 0)
    yield _instruction(_RETURN, _ERROR | errno.EAFNOSUPPORT)
    yield _instruction(_RETURN, _ALLOW)


def _return_if(test: int, value: int, result: int) -> Iterator[bytes]:
    yield _instruction(test, value, 0, 1)
    yield _instruction(_RETURN, result)


def _return_unless(test: int, value: int, result: int) -> Iterator[bytes]:
    yield _instruction(test, value, 1, 0)
    yield _instruction(_RETURN, result)


def _instruction(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
