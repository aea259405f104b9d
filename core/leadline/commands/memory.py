"""Too little memory: a limit that no run can keep, and errors that such a limit causes."""

from __future__ import annotations

import errno

from leadline.errors import LeadlineError

# Bytes of address space below which runs fail at random: threads, the index of documents and worker processes reserve
# much more than they use. With 600 MB they fail, with 800 MB they do not (decision 6).
LEAST = 768 << 20
_ADVICE = "raise the limit, such as: ulimit -v unlimited"


def check_limit() -> None:
    """Raise `LeadlineError` if the limit of address space is too low for any run."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_AS, getrlimit
    except ImportError:  # Windows
        return
    limit, _ = getrlimit(RLIMIT_AS)
    if limit != RLIM_INFINITY and limit < LEAST:
        raise LeadlineError(
            f"not enough address space: the limit is {limit >> 20} MB, and a run needs {LEAST >> 20} MB; {_ADVICE}"
        )


def exhaustion(error: BaseException) -> str:
    """Return the message for an error that too little memory caused; empty for another error."""
    if isinstance(error, BaseExceptionGroup):
        return next(filter(None, map(exhaustion, error.exceptions)), "")
    text = str(error)
    lacking = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
    if lacking or (isinstance(error, RuntimeError) and text == "can't start new thread"):
        return f"not enough memory or too many threads ({text or 'MemoryError'}); free memory, or {_ADVICE}"
    return exhaustion(error.__cause__) if error.__cause__ else ""
