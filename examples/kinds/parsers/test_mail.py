import pytest
from leadline_mail import Mail

from leadline.plugin import Blob
from leadline.testing.contracts import ParserContract

MAIL = b"Subject: Depths\nContent-Type: text/plain\n\nThe harbour is nine fathoms deep.\n"


class TestMail(ParserContract):
    tested = Mail

    @pytest.fixture
    def requests(self):
        return [Blob(name="depths.eml", media_type="message/rfc822", data=MAIL)]
