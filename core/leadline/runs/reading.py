"""How a run reads an address: a fetcher that accepts it, then a parser for what came, each behind the door."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from leadline.assemble import House, Member, together
from leadline.contracts import Call, Fetcher, Parser
from leadline.door.calls import Door
from leadline.door.faults import wished
from leadline.door.kinds import Kind, Maker
from leadline.errors import CallFailed, Unsupported
from leadline.records import Blob, Document, FetchRequest


class Reading:
    """Reads for one run, by the fetchers and parsers of these names, in their order."""

    def __init__(self, house: House, door: Door, fetchers: Sequence[str], parsers: Sequence[str]) -> None:
        self._house = house
        self._door = door
        self._fetchers = fetchers
        self._parsers = parsers

    async def read(self, request: FetchRequest) -> Document:
        """Fetch an address and parse what came; the two are one call to the caller."""
        kind = Kind(name="read", reply=Document, composite=True)

        async def do(request: FetchRequest, call: Call) -> Document:
            return await self._parse(await self.fetch(request))

        return await self._door.call(kind, request, do, maker=self._maker, task="fetch")

    @cached_property
    def _maker(self) -> Maker:
        """Who reads."""
        parsers = [self._house.member("parsers", name) for name in self._parsers]
        return Maker(name="read", fingerprint=together(parsers))

    async def fetch(self, request: FetchRequest) -> Blob:
        """Return what stands at an address, as it is."""
        unfit: CallFailed | None = None
        for name in self._fetchers:
            member = self._house.member("fetchers", name)
            fetcher = await member.get()
            if not await self._accepts(member, fetcher, request.url):
                continue
            kind = Kind(name="fetch", reply=Blob, keep=member.offer.keep)
            try:
                return await self._door.call(kind, request, fetcher.fetch, maker=member.maker, task="fetch")
            except CallFailed as failed:
                if not request.accept or failed.record.type != Unsupported.__name__:
                    raise
                unfit = failed  # one that reads nothing but pages: the next may bring pictures
        raise unfit or Unsupported(f"no fetcher of read.fetchers ({', '.join(self._fetchers)}) reads {request.url}")

    async def _accepts(self, member: Member, plugin: Fetcher | Parser, what: str) -> bool:
        try:
            return plugin.accepts(what)
        except BaseException as error:
            if wished(error):
                raise
            raise await self._door.fault("accepts", member.maker, error) from error

    async def _parse(self, blob: Blob) -> Document:
        for name in self._parsers:
            member = self._house.member("parsers", name)
            parser = await member.get()
            if await self._accepts(member, parser, blob.media_type):
                # Not kept: the document stands in the journal as the outcome of the whole.
                kind = Kind(name="parse", reply=Document, keep=False, alone=True, free=member.offer.free)
                return await self._door.call(kind, blob, parser.parse, maker=member.maker, task="fetch")
        raise Unsupported(f"no parser of read.parsers reads {blob.media_type} ({blob.name})")
