from leadline_bullets import Bullets

from leadline.testing.contracts import SynthesizerContract


class TestBullets(SynthesizerContract):
    tested = Bullets
