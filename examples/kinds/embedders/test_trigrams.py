from leadline_trigrams import Trigrams

from leadline.testing.contracts import EmbedderContract


class TestTrigrams(EmbedderContract):
    tested = Trigrams
