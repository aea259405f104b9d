"""The last texts: so many bytes of them, the first that came goes first."""

from leadline.journal.recent import Recent


def held(recent: Recent) -> str:
    return "".join(key for key in "abcd" if recent.get(key) is not None)


def test_the_first_that_came_goes_first() -> None:
    recent = Recent(10)
    for key in "abc":
        recent.put(key, b"four")
    assert held(recent) == "bc"
    recent.put("d", b"1234567")
    assert held(recent) == "d"


def test_a_text_takes_the_place_of_the_one_before() -> None:
    recent = Recent(10)
    recent.put("a", b"old")
    recent.put("b", b"four")
    recent.put("a", b"newer")
    assert recent.get("a") == b"newer"
    assert held(recent) == "ab"
    recent.drop("a")
    recent.drop("a")
    recent.put("c", b"123456")
    assert held(recent) == "bc"


def test_what_is_larger_than_all_is_not_held() -> None:
    recent = Recent(3)
    recent.put("a", b"four")
    assert held(recent) == ""
    recent.put("b", b"123")
    assert recent.get("b") == b"123"
    recent.put("c", b"")
    assert recent.get("c") == b""
    assert held(recent) == "bc"
