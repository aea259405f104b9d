"""What is taken of a chat's reply: at once where it is sound, after it was asked for again what is of use of it."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from leadline.errors import BadReply
from leadline.records import ChatReply, Record
from leadline.replies.parsing import NotInForm, Reading, reading
from leadline.tasks import UNUSABLE, Talk, Task, checked

R = TypeVar("R", bound=Record)
CUT = "the reply was cut off at the model's limit of length"
FILTERED = "the vendor's content filter stopped the reply"
_SHORT = 600
"""Characters of a reply that says no and nothing else."""
_DECLINES = re.compile(
    r"""\W*(?:
      (?:i['’]?m|i\sam|we['’]?re)\s+(?:\w+\s+)?(?:sorry|unable|not\sable)\b|sorry\b|i\s+(?:cannot|can['’]?t|won['’]?t)\b
    | (?:很|非常)?抱歉|对不起|對不起|我(?:无法|無法|不能)|申し訳|お手伝いできま|죄송|извините
    | lo\ssiento|no\spuedo|es\stut\smir|ich\skann\s(?:\w+\s)*nicht|(?:je\ssuis\s)?désolée?|je\sne\speux\spas
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def read(reply: ChatReply, form: type[R]) -> Reading[R]:
    """Read a reply that may have been cut off: then it is not taken before it was asked for once more."""
    if reply.finish_reason == "length":
        raise BadReply(f"{CUT}: say it shorter")
    found = reading(reply.message.text, form)
    if found.broken:
        raise BadReply("the reply ends in the middle: say it whole")
    return found


def in_words(error: BadReply, said: ChatReply) -> str:
    """Return for people why a reply was not taken: what a model is told of its form, or to do, is nothing to them.

    That stands behind a colon, in each clause of what was wrong. Who declines is not said to have missed a form, nor is
    one that was stopped.
    """
    wrong, text = str(error), said.message.text
    declines = len(text) <= _SHORT and _DECLINES.match(text)
    if said.finish_reason == "content_filter" and not declines:
        return FILTERED
    if said.finish_reason == "length":
        return CUT
    if isinstance(error, NotInForm):
        wrong = "it declines the task" if declines else "it has not the form that was asked for"
    clauses = wrong.removeprefix(UNUSABLE).split("; ")
    return f"the model's reply could not be used: {'; '.join(clause.partition(': ')[0] for clause in clauses)}"


def taken(found: Reading[R], task: Task[R]) -> tuple[R, list[str]]:
    """Take a reply that passes its check, and tell what of it was left out. Raises `BadReply`."""
    return checked(found.reply, task), _less(found, task)


def _less(found: Reading[R], task: Task[R]) -> list[str]:
    return [f"{task.name}: a part of the reply could not be read, and was left out"] if found.left_out else []


def _lacking(said: str, found: Reading[R], task: Task[R]) -> str:
    lacks = task.lacks(task.inputs, found.reply) if task.lacks else ""
    return f"{task.name}: {said} ({lacks})" if lacks else f"{task.name}: {said}"


def taken_at_last(said: ChatReply, task: Task[R]) -> tuple[R, list[str]]:
    """Take what is of use of a reply that is not asked for again; what is done with less is told. Raises `BadReply`."""
    text, cut = said.message.text, said.finish_reason == "length"
    found = reading(text, task.reply, cut=cut, last=True)
    told: list[str] = []
    if cut:
        why = "the second reply was cut off at the limit of length, and what was whole of it is taken"
        told = [_lacking(why, found, task)]
    elif found.broken:
        found = reading(text, task.reply, cut=True, last=True)
        told = [_lacking("the second reply ended in the middle, and what was whole of it is taken", found, task)]
    told += _less(found, task)
    try:
        return checked(found.reply, task), told
    except BadReply:
        of_use = task.mend(task.inputs, found.reply) if task.mend else None
        if of_use is None:
            raise
    return of_use[0], [*told, *filter(None, of_use[1:])]


def usable(task: Task[Any], reply: ChatReply) -> bool:
    """Return whether a reply is good enough for other runs: whole, and of use for its task."""
    if reply.finish_reason not in ("stop", "tool_calls"):
        return False
    if isinstance(task.inputs, Talk):
        return True
    try:
        checked(read(reply, task.reply).reply, task)
    except BadReply:
        return False
    return True
