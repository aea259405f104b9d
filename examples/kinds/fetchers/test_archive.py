import pytest
from leadline_archive import Archive, ArchiveSettings

from leadline.plugin import FetchRequest
from leadline.testing.contracts import FetcherContract
from leadline.testing.servers import ScriptedAnswer, scripted_server


class TestArchive(FetcherContract):
    tested = Archive
    heeds = False  # it returns whole pages, whatever `size` and `accept` of a request are

    @pytest.fixture
    def requests(self):
        return [FetchRequest(url="https://example.org/depths")]

    @pytest.fixture
    async def settings(self):
        async with scripted_server(ScriptedAnswer(b"nine fathoms", headers={"content-type": "text/plain"})) as server:
            yield ArchiveSettings(url=server.url)
