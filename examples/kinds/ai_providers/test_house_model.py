import pytest
from leadline_house_model import HouseModel, HouseSettings

from leadline.testing.contracts import AIProviderContract
from leadline.testing.servers import json_answer, scripted_server


class TestHouseModel(AIProviderContract):
    tested = HouseModel

    @pytest.fixture
    async def settings(self):
        async with scripted_server(json_answer({"choices": [{"message": {"content": "Nine fathoms."}}]})) as server:
            yield HouseSettings(url=server.url)
