import pytest
from leadline_postfix import Postfix

from leadline.plugin import Code
from leadline.testing.contracts import SandboxContract


class TestPostfix(SandboxContract):
    tested = Postfix

    @pytest.fixture
    def requests(self):
        return [Code(language="postfix", text="3 4 + 2 *")]

    @pytest.fixture
    def failing(self):
        return [Code(language="postfix", text=text) for text in ("1 0 /", "+", "many")]
