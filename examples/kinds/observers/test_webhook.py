import pytest
from leadline_webhook import Webhook, WebhookSettings

from leadline.testing.contracts import ObserverContract
from leadline.testing.servers import json_answer, scripted_server


class TestWebhook(ObserverContract):
    tested = Webhook

    @pytest.fixture
    async def settings(self):
        async with scripted_server(json_answer({})) as server:
            yield WebhookSettings(url=server.url)
