from leadline_careful import Careful

from leadline.testing.contracts import ClaimJudgeContract


class TestCareful(ClaimJudgeContract):
    tested = Careful
