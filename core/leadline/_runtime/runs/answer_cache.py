"""Answers of fast pipelines that other runs may use: `cache.answers`.

The key is a SHA-256 of everything that an answer depends on: pipeline, question, conversation, principal, and the
settings except those that only say where and how a report is written, and the stored documents if the
run uses it. The report is kept as its stages left it, so that
a run that finds it only writes the formats. What was found is stored in the journal: a resumed or replayed run has it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from typing import Any

from pydantic import JsonValue, ValidationError

from leadline._hosting.loading import revision
from leadline._runtime.calls.job import Kind
from leadline._runtime.calls.store import account_of
from leadline._runtime.runs.run import Run
from leadline._settings.redaction import public
from leadline.errors import CallFailed
from leadline.events import utc_now
from leadline.pipeline import Step
from leadline.records import DocumentList, DocumentSelection, Notice, Report
from leadline.research_findings import REPORT, VERIFICATION, Verification
from leadline.settings import seconds

# The level of the pipelines whose answers are cached.
LEVEL = "fast"
# Settings that change no answer.
_OTHER_TABLES = ("runs", "observers", "limits", "retry", "budget", "cache", "pipelines", "preset")
_OTHER_REPORT_KEYS = ("formats", "references", "resource_file", "figures", "citation_style")
_OTHER_PLUGINS = ("report.formats", "observers")
_CACHED = (REPORT, VERIFICATION)


class AnswerCache:
    """The cached answer to the question of one run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._ttl = seconds(run.settings.cache.answers) if run.pipeline.level == LEVEL else 0.0
        self._key = ""
        self._account = account_of(run.plugins.loaded.secrets)
        self.hit = False

    async def find(self) -> tuple[Step, ...]:
        """Put a cached answer on the board and return the stages that are left to run; none without an answer."""
        if not self._ttl:
            return ()
        cache, body = self._run.plugins.answers, None
        if cache and not self._run.readonly and (documents := await self._documents()) is not None:
            self._key = self._digest(documents)
            body = await cache.get(self._key, self._account, self._ttl)
        stored = await self._run.fact("the cached answer", lambda: _decoded(body))
        try:
            self._put(stored)
        except (ValidationError, KeyError, TypeError):
            return ()  # nothing was found, or another version wrote it
        self.hit = True
        for notice in stored.get("notices", ()):
            await self._run.emit("notice", {"message": notice})
        age = (self._run.now() - datetime.fromisoformat(stored["at"])).total_seconds()
        message = f"answered from the cache: the same was asked {max(0, round(age))} s before; --no-cache asks anew"
        await self._run.emit("notice", {"message": message})
        return self._rest()

    def keep(self) -> None:
        """Let other runs have the answer of a complete run, unless it holds a secret."""
        board = self._run.board
        report, checks = board.get(REPORT), board.get(VERIFICATION)
        cache = self._run.plugins.answers
        if not self._key or self.hit or cache is None or report is None:
            return
        answer = {
            "at": utc_now().isoformat(),
            "report": report.model_dump(mode="json"),
            "verification": checks.model_dump(mode="json") if checks else None,
            "notices": [Notice.read(notice).data() for notice in self._run.notices],
        }
        body = json.dumps(answer, ensure_ascii=False).encode()
        if not self._run.secrets.found_in(body):
            cache.put_soon(self._key, self._account, body)

    def _put(self, stored: Any) -> None:
        report = Report.model_validate(stored["report"])
        checks = stored["verification"] and Verification.model_validate(stored["verification"])
        self._run.board.put(REPORT, report)
        if checks:
            self._run.board.put(VERIFICATION, checks)

    def _rest(self) -> tuple[Step, ...]:
        """Return the stages after the one that first gives the report, without those whose findings are cached."""
        steps = tuple(self._run.pipeline.steps())
        first = next(index for index, step in enumerate(steps) if any(key.name == REPORT.name for key in step.writes))
        cached = {key.name for key in _CACHED}
        return tuple(step for step in steps[first + 1 :] if not cached & {key.name for key in step.writes})

    async def _documents(self) -> str | None:
        """Return the version of the stored documents, empty without any; None if it does not tell."""
        run, base = self._run, self._run.settings.knowledge.base
        if not any(base in run.plugins.chosen.get(key, ()) for key in ("knowledge.base", "search.engines")):
            return ""
        instance = run.plugins.instance("search_providers", base)
        kind = Kind(name="knowledge.documents", reply=DocumentList, composite=True, keep=False)
        identity, do = replace(instance.identity, limiter=None), instance.method("documents")
        try:
            documents = await run.calls.call(kind, DocumentSelection(names=()), do, provider=identity, task="retrieve")
        except CallFailed:  # the stage that needs the documents tells why
            return None
        return documents.version or None

    def _digest(self, documents: str) -> str:
        run, conversation = self._run, self._run.conversation
        settings = public(run.settings)
        settings = {name: value for name, value in settings.items() if name not in _OTHER_TABLES}
        settings["report"] = {
            name: value for name, value in settings["report"].items() if name not in _OTHER_REPORT_KEYS
        }
        chosen = run.plugins.chosen.items()
        used = {name for key, names in chosen if key not in _OTHER_PLUGINS for name in names}
        settings["plugins"] = {name: section for name, section in settings["plugins"].items() if name in used}
        parts: dict[str, JsonValue] = {
            "pipeline": self._run.pipeline.name,
            "stages": list(run.stages),
            "question": run.question,
            "documents": documents,
            "conversation": conversation.model_dump(mode="json") if conversation else None,
            "principal": run.principal.id if run.principal else "",
            "settings": settings,
            "tags": dict(run.plugins.loaded.tags),
            "version": run.request.versions.get("leadline", ""),
            "revisions": {name: revision(run.plugins.loaded.plugins[name]) for name in sorted(used)},
        }
        return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def _decoded(body: bytes | None) -> JsonValue:
    try:
        answer: JsonValue = json.loads(body) if body else None
    except ValueError:
        return None
    return answer
