"""Add, list, remove, search and ask your own documents."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Awaitable, Callable, Sequence
from pathlib import PurePath
from typing import Any, TypeVar

from leadline.commands import (
    add_command,
    add_group,
    client_of,
    count,
    folder_option,
    question_argument,
    quiet_option,
    run_coroutine,
    settings_options,
)
from leadline.commands.foreground import answer
from leadline.commands.output import plural, say, table, write, write_json
from leadline.display import nearest, one_line
from leadline.errors import CallFailed, LeadlineError
from leadline.records import AddedDocuments, Passages, StoredDocument

T = TypeVar("T")
# The exit code if some files could not be added, and if nothing was found.
PARTIAL, NOTHING = 4, 5
# Characters of a passage that a list shows.
_SHOWN = 600


def arguments(parser: ArgumentParser) -> None:
    group = add_group(parser)
    added = add_command(group, "add", "add files and folders, or newer versions of them", _add)
    added.add_argument("paths", metavar="PATH", nargs="+", help="file or folder to add, with all folders below")
    added.add_argument("--reembed", action="store_true", help="first embed all documents again, as `reembed` does")
    listed = add_command(group, "list", "list the documents", _list)
    removed = add_command(group, "remove", "remove documents", _remove)
    removed.add_argument("names", metavar="NAME", nargs="+", help="id, name, path or folder, as `list` shows them")
    search = add_command(group, "search", "print the passages that answer a question best", _search)
    search.add_argument("question", metavar="QUESTION", nargs="+", help="question to search for")
    search.add_argument("--limit", type=count, default=5, metavar="N", help="number of passages (default: 5)")
    again = add_command(group, "reembed", "embed all documents again, with the embedder of the settings", _reembed)
    for command in (added, listed, removed, search, again):
        command.add_argument("--principal", default="", metavar="ID", help="user whose documents are meant")
        settings_options(command, json=True)
    for command in (added, again):
        quiet_option(command)
    ask = add_command(group, "ask", "answer a question from the documents, with citations", _ask)
    ask.set_defaults(pipeline="knowledge")
    question_argument(ask)
    ask.add_argument("--format", action="append", default=[], metavar="NAME", help="format of the answer (repeatable)")
    folder_option(ask)
    quiet_option(ask)
    settings_options(ask, json=True)


def _add(args: Namespace) -> int:
    """Add files and folders, and name those that could not be read."""
    return _added(args, lambda base: base.add(*args.paths, reembed=args.reembed, **_common(args)))


def _reembed(args: Namespace) -> int:
    """Embed all documents again."""
    return _added(args, lambda base: base.add(reembed=True, **_common(args)))


def _list(args: Namespace) -> int:
    """Print the documents."""
    listing = _run(args, lambda base: base.documents(principal=args.principal or None))
    if args.json:
        write_json(listing.model_dump(mode="json"))
    elif listing.documents:
        write(_table(listing.documents))
        passages = sum(document.passages for document in listing.documents)
        say(
            f"{plural(len(listing.documents), 'document')}, {plural(passages, 'passage')}; embedder: {listing.embedder}"
        )
    else:
        say("No documents. Add some: leadline knowledge add PATH")
    if listing.unfinished:
        say("An addition was interrupted; run it again to finish it.")
    return 0


def _remove(args: Namespace) -> int:
    """Remove documents, and print those that were removed."""
    removal = _run(args, lambda base: base.remove(*args.names, principal=args.principal or None))
    if args.json:
        write_json([document.model_dump(mode="json") for document in removal.documents])
    elif removal.documents:
        write(_table(removal.documents))
    if not removal.documents:
        known = _run(args, lambda base: base.documents(principal=args.principal or None)).documents
        near = _nearest(args.names, [document.name for document in known])
        hint = f"did you mean {near!r}? " if near else ""
        say(f"No document is called {', '.join(args.names)}; {hint}`leadline knowledge list` shows their names.")
        return NOTHING
    say(f"Removed {plural(len(removal.documents), 'document')}.")
    return 0


def _nearest(names: Sequence[str], known: Sequence[str]) -> str:
    """Return the document that is meant: one whose path ends with a name, else the nearest name; empty if none is."""
    ending = (candidate for name in names for candidate in known if PurePath(candidate).name == PurePath(name).name)
    return next(ending, "") or next(filter(None, (nearest(name, known) for name in names)), "")


def _search(args: Namespace) -> int:
    """Print the passages that answer a question best."""
    query = " ".join(args.question)
    passages = _run(args, lambda base: base.search(query, limit=args.limit, principal=args.principal or None))
    if args.json:
        write_json(passages.model_dump(mode="json", exclude={"sources": {"__all__": {"document"}}}))
    else:
        _show(passages)
    return 0 if passages.evidence else NOTHING


def _ask(args: Namespace) -> int:
    """Answer a question from the documents."""
    return answer(args, args.question)


def _run(args: Namespace, work: Callable[[Any], Awaitable[T]]) -> T:
    """Return what a method of `Client.knowledge` returns; a failed call is told without its number."""

    async def run() -> T:
        async with client_of(args) as client:
            return await work(client.knowledge)

    try:
        return run_coroutine(run())
    except CallFailed as failed:
        raise LeadlineError(failed.record.message) from failed


def _common(args: Namespace) -> dict[str, Any]:
    return {"principal": args.principal or None, "progress": None if args.quiet else _progress()}


def _progress() -> Callable[[int, int, int], None]:
    """Return a function that shows how far an addition is: on a terminal in one line, else at each tenth."""
    shown = 0

    def show(done: int, total: int, problems: int) -> None:
        nonlocal shown
        text = f"{done:,} of {total:,} files" + (f", {problems:,} not readable" if problems else "")
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text}" + "\n" * (done == total))
            sys.stderr.flush()
        elif done == total or done * 10 // total > shown:
            shown = done * 10 // total
            say(text)

    return show


def _added(args: Namespace, work: Callable[[Any], Awaitable[AddedDocuments]]) -> int:
    addition = _run(args, work)
    if args.json:
        write_json(addition.model_dump(mode="json"))
    for problem in addition.problems:
        say(f"not added: {one_line(problem.name)}: {one_line(problem.reason)}")
    for notice in addition.notices:
        say(f"not read: {one_line(notice)}")
    counts = {
        "added": addition.added,
        "replaced": addition.replaced,
        "unchanged": addition.unchanged,
        "embedded again": addition.embedded_again,
        "not readable": len(addition.problems),
    }
    summary = ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)
    passages = sum(document.passages for document in addition.documents)
    say(
        f"{summary or 'nothing to add: no file that a parser of read.parsers reads'}"
        + (f"; {plural(passages, 'passage')}" if passages else "")
    )
    return PARTIAL if addition.problems else 0


def _table(documents: Sequence[StoredDocument]) -> str:
    rows = [
        (
            document.id,
            document.passages,
            document.pages or "",
            document.added.astimezone().strftime("%Y-%m-%d %H:%M"),
            "" if document.shared else "own",
            document.name if document.title in ("", document.name) else f"{document.name} ({document.title})",
        )
        for document in documents
    ]
    return table(rows, ("ID", "PASSAGES", "PAGES", "ADDED", "", "NAME"))


def _show(passages: Passages) -> None:
    sources = {source.id: source for source in passages.sources}
    for number, passage in enumerate(passages.evidence, start=1):
        title = sources[passage.source_id].hit.title
        path = [heading for heading in passage.path if heading != title]
        page = f", page {passage.page}" if passage.page else ""
        write(f"{number}. {' > '.join([title, *path])}{page}  [{passage.id}]")
        text = one_line(passage.quote)
        write(f"   {text[:_SHOWN]}{' …' if len(text) > _SHOWN else ''}\n")
