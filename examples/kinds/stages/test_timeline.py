import pytest
from leadline_timeline import Timeline
from leadline_years import YEARS, Year

from leadline.plugin import REPORT
from leadline.testing.contracts import StageContract
from leadline.testing.fakes import quoting


class TestTimeline(StageContract):
    tested = Timeline

    @pytest.fixture
    def requests(self):
        report = quoting("Built in 1871 [@e1].", quotes=["The mole was built in 1871.", "It is nine fathoms deep."])
        return [{REPORT: report, YEARS: [Year(id="e1", year=1871)]}]
