"""The request of a run: its question, settings and versions, stored in the journal so that it can be resumed."""

from __future__ import annotations

import asyncio
import platform
import secrets
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from leadline._runtime.journal.journal import Journal
from leadline._runtime.runs.conversations import Place
from leadline._runtime.runs.folder import JOURNAL, folder_name
from leadline._settings.layers import leaves, nested
from leadline._settings.load import Loaded, StoredRun, seal_of
from leadline.errors import LeadlineError, UsageError
from leadline.events import utc_now
from leadline.records import Principal, Turn
from leadline.runs import Order
from leadline.stores import refresh

# Characters. Longer material belongs in a folder that is searched.
MAX_QUESTION = 20_000
# The name of the entry in the journal.
_ENTRY = "order"


class RunRequest(Order):
    """An order with its place in the journal."""

    @classmethod
    def new(
        cls,
        question: str,
        loaded: Loaded,
        tags: Mapping[str, str],
        principal: Principal | None = None,
        position: Place = Place(),  # noqa: B008 - it is frozen
        turns: Sequence[Turn] = (),
    ) -> RunRequest:
        """Return a request with a new id."""
        began = utc_now().replace(microsecond=0)
        trace_id = secrets.token_hex(16)
        return cls(
            run_id=folder_name(trace_id, began),
            trace_id=trace_id,
            question=question,
            pipeline=loaded.settings.pipeline,
            began=began,
            settings=loaded.stored,
            setting_tags=dict(loaded.tags),
            seal=loaded.seal,
            versions={"leadline": version("leadline"), "python": platform.python_version()},
            tags=dict(tags),
            principal=principal,
            conversation=position.conversation,
            follows=position.follows,
            turns=tuple(turns),
            given=loaded.given,
            plugins=loaded.distributions,
        )

    @classmethod
    async def load(cls, journal: Journal) -> RunRequest:
        """Read the request of a run. Raises `LeadlineError` if the run never started."""
        stored = await journal.get_meta(_ENTRY)
        if stored is None:
            raise LeadlineError(f"{journal.path.parent} has no stored request to resume; start the run again")
        try:
            return cls.model_validate(stored)
        except ValueError:
            raise LeadlineError(f"the request in {journal.path} is damaged, so it cannot be resumed") from None

    async def store(self, journal: Journal) -> None:
        """Write the request into the journal, for the next session."""
        await journal.set_meta(_ENTRY, self.model_dump(mode="json"))

    def stored(self, cache: Path, *, offline: bool = False, sealed: bool = False) -> StoredRun:
        """Return the settings as `load_settings` takes them; `cache` is the folder of the key of seals."""
        sealed = sealed or self.is_sealed(cache)
        return StoredRun(self.settings, self.setting_tags, self.plugins, sealed=sealed, offline=offline)

    def on_behalf_of(self, principal: Principal | None) -> RunRequest:
        """Return the request with the principal's credential. Raises `UsageError` if the run is another principal's."""
        if principal is None:
            return self
        if self.principal is None or self.principal.id != principal.id:
            raise UsageError(f"the run {self.run_id} does not belong to this principal")
        return self.model_copy(update={"principal": principal})

    def is_sealed(self, cache: Path) -> bool:
        """Return whether the settings are as a run on this machine stored them."""
        return bool(self.seal) and self.seal == seal_of(self.settings, cache)

    @property
    def given_settings(self) -> dict[str, Any]:
        """The settings that a user set, except the pipeline: those that hold for any pipeline."""
        given = {*self.given} - {"pipeline"}
        return nested((path, value) for path, value in leaves(self.settings) if ".".join(path) in given)

    def with_settings(self, loaded: Loaded) -> RunRequest:
        """Return the request with the settings of a new session."""
        settings, tags, pipeline = loaded.stored, dict(loaded.tags), loaded.settings.pipeline
        route = self.route if pipeline == self.pipeline else ""
        update = {"settings": settings, "seal": loaded.seal, "setting_tags": tags, "pipeline": pipeline, "route": route}
        update["plugins"] = loaded.distributions
        return self.model_copy(update=update)


def check_question(question: str) -> str:
    """Return the question without surrounding space. Raises `UsageError` if it is empty or too long."""
    text = question.strip()
    if not text:
        raise UsageError("the question is empty: write what you want to know, such as 'How does …?'")
    if len(text) > MAX_QUESTION:
        raise UsageError(
            f"the question has {len(text):,} characters, but at most {MAX_QUESTION:,} are allowed: "
            "put long material into documents, which are searched"
        )
    return text.encode("utf-8", "replace").decode()


async def load_request(folder: Path) -> RunRequest:
    """Return the request of the run in a folder. Raises `LeadlineError` if the run never started."""
    journal = await Journal.open(folder / JOURNAL, mode="read")
    try:
        return await RunRequest.load(journal)
    finally:
        await journal.close()


async def has_request(folder: Path) -> bool:
    """Return whether the run in a folder can be resumed; a crash may come before its request was stored."""
    await asyncio.to_thread(refresh, folder)
    if not (folder / JOURNAL).is_file():
        return False
    journal = await Journal.open(folder / JOURNAL, mode="read")
    try:
        return await journal.get_meta(_ENTRY) is not None
    finally:
        await journal.close()
