import pytest
from leadline_handbook import Handbook, HandbookSettings

from leadline.testing.contracts import KEY, SearchProviderContract
from leadline.testing.servers import json_answer, scripted_server

PAGE = {"url": "https://handbook.example/leave", "title": "Leave", "snippet": "30 days a year"}


class TestHandbook(SearchProviderContract):
    tested = Handbook

    @pytest.fixture
    async def settings(self):
        async with scripted_server({"/search": {"pages": [PAGE]}}) as server:
            yield HandbookSettings(url=server.url, token=KEY)

    @pytest.fixture
    async def refused(self, context):
        async with scripted_server(json_answer({"error": "this token has expired"}, 401)) as server:
            yield Handbook(HandbookSettings(url=server.url, token=KEY), context)
