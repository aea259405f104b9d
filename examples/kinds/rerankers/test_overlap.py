from leadline_overlap import Overlap

from leadline.testing.contracts import RerankerContract


class TestOverlap(RerankerContract):
    tested = Overlap
