from leadline_redact import Redact

from leadline.testing.contracts import MiddlewareContract


class TestRedact(MiddlewareContract):
    tested = Redact
