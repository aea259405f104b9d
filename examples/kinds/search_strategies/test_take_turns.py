from leadline_take_turns import TakeTurns

from leadline.testing.contracts import SearchStrategyContract


class TestTakeTurns(SearchStrategyContract):
    tested = TakeTurns
