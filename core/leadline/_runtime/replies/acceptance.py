"""Accepts or refuses a reply of a chat: the first only if it is sound, the second as far as it is usable."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from leadline._runtime.replies.parsing import ParsedReply, WrongForm, parse_reply
from leadline.errors import BadReply
from leadline.records import ChatReply, Record
from leadline.tasks import UNUSABLE, Talk, Task, checked

R = TypeVar("R", bound=Record)
CUT = "the reply was cut off at the model's limit of length"
FILTERED = "the vendor's content filter stopped the reply"
# By its reason to finish: the notice of a last reply of which a part is used.
_PARTLY_USED = {
    "length": "the second reply was cut off at the length limit; its complete part is used",
    "content_filter": "the vendor's content filter stopped the reply; its complete part is used",
}
# Maximum number of characters of a mere refusal.
_SHORT = 600
_DECLINES = re.compile(
    r"""\W*(?:
      (?:i['’]?m|i\sam|we['’]?re)\s+(?:\w+\s+)?(?:sorry|unable|not\sable)\b|sorry\b|i\s+(?:cannot|can['’]?t|won['’]?t)\b
    | (?:很|非常)?抱歉|对不起|對不起|我(?:无法|無法|不能)|申し訳|お手伝いできま|죄송|извините
    | lo\ssiento|no\spuedo|es\stut\smir|ich\skann\s(?:\w+\s)*nicht|(?:je\ssuis\s)?désolée?|je\sne\speux\spas
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def read(reply: ChatReply, task: Task[R]) -> ParsedReply[R]:
    """Parse a first reply. Raises `BadReply` also if it was cut off, so that the model is asked once more.

    A task that `continues` takes the complete part instead, since it asks for the rest.
    """
    cut = reply.finish_reason == "length"
    if cut and not task.continues:
        raise BadReply(f"{CUT}: write less")
    found = parse_reply(reply.message.text, task.reply, cut=cut)
    if found.broken and not cut:
        raise BadReply("the reply ends in the middle: complete it")
    return found


def describe_refusal(error: BadReply, said: ChatReply) -> str:
    """Return for users why a reply was refused, without the instructions that the message contains for the model.

    Those follow a colon in each clause. A refusal or a stopped reply is not reported as a wrong form.
    """
    wrong, text = str(error), said.message.text
    declines = len(text) <= _SHORT and _DECLINES.match(text)
    if said.finish_reason == "content_filter" and not declines:
        return FILTERED
    if said.finish_reason == "length":
        return CUT
    if isinstance(error, WrongForm):
        wrong = "it declines the task" if declines else "it does not have the requested form"
    clauses = wrong.removeprefix(UNUSABLE).split("; ")
    return f"the model's reply could not be used: {'; '.join(clause.partition(': ')[0] for clause in clauses)}"


def accept_first(found: ParsedReply[R], task: Task[R]) -> tuple[R, list[str]]:
    """Return a reply that passes its check, with notices about omitted parts. Raises `BadReply`."""
    return checked(found.reply, task), _less(found, task)


def _less(found: ParsedReply[R], task: Task[R]) -> list[str]:
    return [f"{task.name}: an unreadable part of the reply was left out"] if found.left_out else []


def _lacking(said: str, found: ParsedReply[R], task: Task[R]) -> str:
    lacks = task.lacks(task.inputs, found.reply) if task.lacks else ""
    return f"{task.name}: {said} ({lacks})" if lacks else f"{task.name}: {said}"


def accept_last(said: ChatReply, task: Task[R]) -> tuple[R, list[str]]:
    """Return the usable part of a last reply, with notices about what is missing. Raises `BadReply`.

    A reply that the vendor's filter stopped is the last one: the filter would stop a second one as well.
    """
    text, notice = said.message.text, _PARTLY_USED.get(said.finish_reason, "")
    found = parse_reply(text, task.reply, cut=bool(notice), last=True)
    if found.broken and not notice:
        notice = "the second reply ended in the middle; its complete part is used"
        found = parse_reply(text, task.reply, cut=True, last=True)
    told = [_lacking(notice, found, task)] if notice else []
    told += _less(found, task)
    try:
        return checked(found.reply, task), told
    except BadReply:
        mend = None if said.finish_reason == "content_filter" else task.mend
        of_use = mend(task.inputs, found.reply) if mend else None
        if of_use is None:
            raise
    return of_use[0], [*told, *filter(None, of_use[1:])]


def is_reusable(task: Task[Any], reply: ChatReply) -> bool:
    """Return whether other runs may reuse a reply: it is complete and passes the check of its task."""
    if reply.finish_reason not in ("stop", "tool_calls"):
        return False
    if isinstance(task.inputs, Talk):
        return True
    try:
        checked(read(reply, task).reply, task)
    except BadReply:
        return False
    return True
