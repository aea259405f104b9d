import pytest
from leadline_years import Years

from leadline.plugin import EVIDENCE
from leadline.testing.contracts import MapStageContract
from leadline.testing.fakes import quoting

REPORT = quoting("Built in 1871 [@e1].", quotes=["The mole was built in 1871.", "It is nine fathoms deep."])


class TestYears(MapStageContract):
    tested = Years

    @pytest.fixture
    def requests(self):
        return [{EVIDENCE: REPORT.evidence}]
