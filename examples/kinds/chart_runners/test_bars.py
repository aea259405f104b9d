from leadline_bars import Bars

from leadline.testing.contracts import ChartRunnerContract


class TestBars(ChartRunnerContract):
    tested = Bars
