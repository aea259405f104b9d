"""The queue on each database: acceptance, turns, claims and their ends."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leadline.contracts import Submission
from leadline.errors import JournalBusy, LeadlineError, UsageError
from leadline.plugin import SecretStr
from leadline.runs import Order
from leadline.settings import Runs
from leadline.stores import open_store
from leadline_server.queue import Claim, Full, Queue, QueueUnavailable, Quota, Replaced, Taken, open_queue
from leadline_server.queue.records import ATTEMPTS
from leadline_server.queue.sql import MOST_DEATHS
from leadline_server.queue.sqlite import SqliteDatabase

T = TypeVar("T")
_NUMBERS = itertools.count()


def an_order(run_id: str = "") -> Order:
    number = next(_NUMBERS)
    run_id = run_id or f"{number:08x}_20261128_120000"
    return Order(run_id=run_id, trace_id=f"{number:032x}", question="?", pipeline="research", began=datetime.now(UTC))


def put(queue: Queue, principal: str | None = None, *, priority: int = 0) -> str:
    order = an_order()
    queue.put(order, principal, priority=priority)
    return order.run_id


def claim(queue: Queue, worker: str = "w") -> Claim:
    found = queue.claim(worker)
    assert found
    return found


def test_an_order_is_claimed_once_and_ends(queue: Queue) -> None:
    order = an_order()
    queue.put(order, "alice")
    assert [(run.run_id, run.state, run.order) for run in queue.active()] == [(order.run_id, "waiting", order)]
    found = claim(queue)
    assert (found.run_id, found.run.principal, found.run.order, found.epoch) == (order.run_id, "alice", order, 1)
    assert queue.claim("other") is None
    assert queue.is_current(found)
    assert queue.done(found)
    assert (queue.active(), queue.is_current(found), queue.done(found)) == ([], False, False)
    ended = queue.get(order.run_id, "alice")
    assert ended
    assert (ended.state, ended.problem, ended.status) == ("ended", "", "")
    assert queue.get(order.run_id, "bob") is None
    queue.forget(order.run_id)
    assert queue.get(order.run_id, "alice") is None


def test_many_workers_claim_every_order_once(queue: Queue) -> None:
    runs = {put(queue, f"p{number % 3}") for number in range(40)}

    def take(worker: int) -> list[str]:
        found = []
        while one := queue.claim(f"w{worker}"):
            found.append(one.run_id)
        return found

    with ThreadPoolExecutor(4) as pool:
        claimed = [run for found in pool.map(take, range(4)) for run in found]
    assert sorted(claimed) == sorted(runs)


def test_a_notification_is_due_when_its_run_ends_or_waits_and_its_attempts_are_kept(queue: Queue) -> None:
    order = an_order()
    queue.put(order, "alice", notify=["https://hooks.example/"])
    assert queue.notifications() == []
    claim = queue.claim("w")
    assert claim
    assert queue.notifications() == []
    queue.later(claim, 100)
    [first] = queue.notifications()
    assert (first.run_id, first.principal, first.target) == (order.run_id, "alice", "https://hooks.example/")
    queue.notified(first, 0.0)
    [again] = queue.notifications()
    assert again == replace(first, attempts=1)
    queue.notified(again, 100.0)
    assert queue.notifications() == []
    assert queue.withdraw(order.run_id, "alice", "no")
    [ended] = queue.notifications()
    assert (ended.event != first.event, ended.attempts) == (True, 0)
    queue.notified(ended)
    assert (queue.notifications(), queue.targets("alice")) == ([], {order.run_id: ["https://hooks.example/"]})
    queue.reopen(order.run_id, "alice")
    assert queue.notifications() == []
    queue.withdraw(order.run_id, "alice", "no")
    queue.forget(order.run_id)
    assert queue.targets("alice") == {}


def test_of_two_servers_one_sends_a_notification_and_the_other_after_a_while_if_it_was_not_sent(queue: Queue) -> None:
    order = an_order()
    queue.put(order, "alice", notify=["https://hooks.example/"])
    queue.withdraw(order.run_id, "alice", "no")
    [due] = queue.notifications()
    assert [queue.begin_notification(due, 0.0), queue.begin_notification(due, 100.0)] == [True, True]
    assert (queue.begin_notification(due, 100.0), queue.notifications()) == (False, [])
    queue.notified(due)
    assert not queue.begin_notification(due, 100.0)


def test_a_key_stands_for_one_order_of_its_principal(queue: Queue) -> None:
    first = an_order()
    queue.put(first, "alice", repeat=("k", "d"))
    queue.put(first, "alice", repeat=("k", "d"))  # repeated after a lost connection
    for digest, same in (("d", True), ("e", False)):
        with pytest.raises(Taken) as taken:
            queue.put(an_order(), "alice", repeat=("k", digest))
        assert (taken.value.run_id, taken.value.same) == (first.run_id, same)
    queue.put(an_order(), "bob", repeat=("k", "d"))
    assert len(queue.active()) == 2


def test_a_greedy_principal_has_a_fair_share_of_the_places_while_others_wait(queue: Queue) -> None:
    queue.enter("w")
    for _ in range(9):
        put(queue, "greedy")
    alone = [queue.claim("w", 4) for _ in range(4)]
    assert all(alone)  # nobody else waited
    for user in ("bob", "carol"):
        put(queue, user)
        put(queue, user)
    for taken in alone:
        assert taken
        queue.done(taken)
    claims = [queue.claim("w", 4) for _ in range(4)]
    assert Counter(taken.run.principal for taken in claims if taken) == {"greedy": 1, "bob": 2, "carol": 1}
    # All that wait have their share of one: no place stays empty.


def test_runs_of_a_principal_at_once_have_a_cap(queue: Queue) -> None:
    queue.enter("w")
    for _ in range(3):
        put(queue, "greedy")
    first = [queue.claim("w", 4, 2) for _ in range(2)]
    assert all(first)
    assert queue.claim("w", 4, 2) is None
    put(queue, "bob")
    taken = queue.claim("w", 4, 2)
    assert taken
    assert taken.run.principal == "bob"
    assert first[0]
    queue.done(first[0])
    assert queue.claim("w", 4, 2)


def test_what_runs_spend_is_summed_by_day_and_ends_at_the_quota(url: str, tmp_path: Path) -> None:
    now = datetime(2026, 1, 30, 23, tzinfo=UTC).timestamp()
    opened = open_queue(url, tmp_path / "runs")
    queue = Queue(opened._database, clock=lambda: now)
    quota = Quota(tokens_day=1_000, money_month=2.5)
    queue.spend("r1", "alice", {"house:large": (900, 1.0), "other": (50, 0.5)})
    queue.put(an_order(), "alice", quota=quota)
    queue.spend("r1", "alice", {"house:large": (950, 1.0), "other": (50, 0.5)})  # in all its sessions
    message = "you have used 1,000 of 1,000 tokens of this day, which ends 2026-01-31 00:00 UTC"
    with pytest.raises(Full, match=message) as full:
        queue.put(an_order(), "alice", quota=quota)
    assert full.value.seconds == 3600
    queue.put(an_order(), "bob", quota=quota)
    now += 7200  # the next day
    queue.put(an_order(), "alice", quota=quota)
    queue.spend("r1", "alice", {"house:large": (1_200, 2.0), "other": (50, 0.5)})
    with pytest.raises(Full, match=r"2.5 of 2.5 USD of this month, which ends 2026-02-01"):
        queue.reopen("r1", "alice", quota=quota)
    queue.spend("r2", None, {})
    assert [(one.run_id, one.principal, one.day[-2:], one.model, one.tokens, one.cost) for one in queue.spent("")] == [
        ("r1", "alice", "30", "house:large", 950, 1.0),
        ("r1", "alice", "30", "other", 50, 0.5),
        ("r1", "alice", "31", "house:large", 250, 1.0),
        ("r1", "alice", "31", "other", 0, 0.0),
        ("r2", None, "31", "", 0, 0.0),
    ]
    assert [one.day for one in queue.spent("2026-01-31")] == ["2026-01-31"] * 3
    opened.close()


def test_active_runs_of_a_principal_are_limited(queue: Queue) -> None:
    queue.put(an_order(), "alice", quota=Quota(runs=2))
    queue.put(an_order(), "alice", quota=Quota(runs=2))
    with pytest.raises(Full, match="2 runs are active"):
        queue.put(an_order(), "alice", quota=Quota(runs=2))
    queue.put(an_order(), "bob", quota=Quota(runs=2))
    claimed = claim(queue)
    assert queue.later(claimed, 60)
    queue.reopen(claimed.run_id, "alice", quota=Quota(runs=2))  # such as by the answer that it waits for
    assert [queue.done(claim(queue)) for _ in range(2)] == [True, True], "of bob and of alice"
    queue.put(an_order(), "alice", quota=Quota(runs=2))


def test_principals_take_turns_however_many_orders_they_have(queue: Queue) -> None:
    for _ in range(6):
        put(queue, "alice")
    assert [claim(queue).run.principal for _ in range(2)] == ["alice", "alice"]
    for _ in range(2):
        put(queue, "bob")
    assert [claim(queue).run.principal for _ in range(6)] == ["bob", "alice", "bob", "alice", "alice", "alice"]


def test_a_higher_priority_comes_first(queue: Queue) -> None:
    low, high = put(queue, "alice"), put(queue, "alice", priority=5)
    assert [claim(queue).run_id for _ in range(2)] == [high, low]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    steps=st.lists(st.tuples(st.sampled_from(["put", "put", "claim", "claim", "end"]), st.integers(0, 4)), max_size=40)
)
def test_started_runs_of_waiting_principals_differ_by_at_most_one(
    steps: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """For any two principals, over any time in which both wait throughout."""
    queue = Queue(_empty(tmp_path_factory))
    started: Counter[str] = Counter()
    since: dict[frozenset[str], dict[str, int]] = {}
    held: list[Claim] = []
    try:
        for what, number in steps:
            if what == "put":
                put(queue, f"p{number}")
            elif what == "end" and held:
                one = held.pop(number % len(held))
                assert queue.done(one) if number % 2 else queue.release(one.run_id, one.epoch)
            elif what == "claim" and (found := queue.claim("w")):
                held.append(found)
                if found.epoch == 1:
                    started[str(found.run.principal)] += 1
            waiting = {str(run.principal) for run in queue.active() if run.state == "waiting" and not run.has_begun}
            pairs = {frozenset(pair) for pair in itertools.combinations(sorted(waiting), 2)}
            since = {pair: since.get(pair, dict(started)) for pair in pairs}
            for pair, before in since.items():
                first, second = (started[name] - before.get(name, 0) for name in sorted(pair))
                assert abs(first - second) <= 1, (pair, steps)
    finally:
        queue.close()


def _empty(folders: pytest.TempPathFactory) -> SqliteDatabase:
    folder = folders.mktemp("turns")
    opened = open_queue("", folder)
    opened.close()
    return SqliteDatabase(folder / ".queue.sqlite")


def test_a_worker_that_wakes_late_can_neither_end_nor_return_an_order(queue: Queue) -> None:
    put(queue)
    late = claim(queue, "paused")
    assert queue.leave("paused", died=True) == 1
    current = claim(queue, "other")
    assert (current.run_id, current.epoch) == (late.run_id, 2)
    assert not queue.is_current(late)
    assert [queue.done(late), queue.later(late, 5), queue.release(late.run_id, late.epoch)] == [False] * 3
    assert queue.done(current)


def test_a_busy_run_waits_and_comes_back(queue: Queue) -> None:
    put(queue, "alice")
    assert queue.later(claim(queue), 0.3)
    assert queue.claim("w") is None
    time.sleep(0.35)
    assert claim(queue).epoch == 2


def test_an_order_that_had_begun_comes_before_new_ones(queue: Queue) -> None:
    begun = put(queue, "alice")
    found = claim(queue)
    put(queue, "bob")
    queue.release(begun, found.epoch)
    assert claim(queue).run_id == begun


def test_a_beat_returns_what_the_worker_holds_until_it_is_removed(queue: Queue) -> None:
    run = put(queue)
    queue.enter("w")
    claim(queue, "w")
    assert queue.beat("w") == {run: 1}
    assert [(one.id, one.beats) for one in queue.workers()] == [("w", 1)]
    queue.leave("w", died=True)
    with pytest.raises(Replaced):
        queue.beat("w")


def test_an_order_whose_workers_die_again_and_again_is_given_up(queue: Queue) -> None:
    run = put(queue)
    later = {"time": time.time()}
    queue._clock = lambda: later["time"]
    for _ in range(MOST_DEATHS):
        later["time"] += 120
        claim(queue, "w")
        queue.leave("w", died=True)
    ended = queue.get(run, None)
    assert ended
    assert (ended.state, ended.status, ended.problem) == (
        "ended",
        "failed",
        f"{MOST_DEATHS} workers died while they worked on this run",
    )


def test_a_run_is_reopened_once_it_has_ended(queue: Queue) -> None:
    run = put(queue, "alice")
    with pytest.raises(JournalBusy):
        queue.reopen(run, "alice")
    queue.done(claim(queue), "broken")
    queue.reopen(run, "alice", retry_failed=True)
    again = claim(queue)
    assert (again.run_id, again.run.retry_failed, again.run.problem, again.epoch) == (run, True, "", ATTEMPTS + 1)
    ended = datetime.now(UTC) + timedelta(minutes=1)  # on a machine whose clock is ahead
    queue.reopen("0badcafe_20260101_000000", None, ended=ended)  # one that was made before the queue
    last = claim(queue).run
    assert last.order is None
    assert last.ordered > ended.timestamp()  # else the order would count as carried out


def test_an_order_that_waits_is_withdrawn(queue: Queue) -> None:
    run = put(queue, "alice")
    assert not queue.withdraw(run, "bob", "not mine")
    assert queue.withdraw(run, "alice", "a mistake")
    ended = queue.get(run, "alice")
    assert ended
    assert (ended.status, ended.problem, queue.claim("w")) == ("cancelled", "a mistake", None)
    put(queue, "alice")
    assert not queue.withdraw(claim(queue).run_id, "alice", "too late")


def test_a_wait_ends_with_a_commit_of_somebody_else(url: str, tmp_path: Path) -> None:
    mine, other = (open_queue(url, tmp_path / "runs") for _ in range(2))
    try:
        for _ in range(2):
            mine.wait(0.01)
        threading.Timer(0.2, put, [other]).start()
        begin = time.monotonic()
        mine.wait(20)
        assert time.monotonic() - begin < 10
        assert mine.claim("w")
    finally:
        mine.close()
        other.close()


@pytest.mark.parametrize("url", ["mysql://x/y", "sqlite:///x", "queue", "postgresql"])
def test_another_url_is_refused(url: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a database; write postgresql://"):
        open_queue(url, tmp_path)


@pytest.mark.parametrize(
    "url",
    ["host=h password=QX/ZY", "postgresql:/u:QX/ZY@h/x", *(f"postgresql://u:QX{c}ZY@h/x" for c in "/@ ")],
)
def test_no_part_of_a_password_is_shown(url: str, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    for use in (lambda: open_queue(url, tmp_path), lambda: open_store(Runs(folder=tmp_path, database=SecretStr(url)))):
        with pytest.raises(LeadlineError) as error:
            use()
        assert "QX" not in str(error.value)
        assert "ZY" not in str(error.value)


def test_an_unusable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(QueueUnavailable, match=r"file/\.queue\.sqlite .*the setting runs\.database or --database"):
        open_queue("", tmp_path / "file")


def test_a_database_that_does_not_answer_is_named_with_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg", reason="the extra fleet is not installed")
    monkeypatch.setattr("leadline_server.queue.postgres._PATIENCE", 0.0)
    with pytest.raises(QueueUnavailable, match=r"in Postgres, database q on 127\.0\.0\.1 .*runs\.database") as told:
        open_queue("postgresql://me:secret@127.0.0.1:1/q", Path("/nowhere"))
    assert "secret" not in str(told.value)


def test_an_order_belongs_to_the_latest_attempt_of_a_dispatcher(queue: Queue) -> None:
    order = Submission(put(queue, "alice"))
    first = queue.take(order, 1, "first")
    assert first
    second = queue.take(order, 2, "second")
    assert second
    assert [queue.is_current(first), queue.is_current(second)] == [False, True]
    with pytest.raises(JournalBusy):
        queue.take(order, 1, "first")
    with pytest.raises(JournalBusy):
        queue.take(order, 2, "another")
    assert queue.take(order, 2, "second") == second
    assert not queue.done(first)
    assert queue.done(second)
    assert queue.take(order, 3, "third") is None
    queue.reopen(order.run_id, "alice")
    assert queue.take(order, 4, "late") is None
    again = queue.take(Submission(order.run_id, 1), 1, "w")
    assert again
    assert again.epoch > second.epoch


def test_only_an_attempt_that_gave_nothing_back_is_the_death_of_its_worker(queue: Queue) -> None:
    order = Submission(put(queue))
    for attempt in range(1, 100):
        claim = queue.take(order, attempt, "w" if attempt % 2 else "v")
        assert claim
        queue.release(order.run_id, claim.epoch)
    for attempt in range(100, 100 + MOST_DEATHS):
        assert queue.take(order, attempt, f"w{attempt}")
    assert queue.take(order, 200, "w") is None
    ended = queue.get(order.run_id, None)
    assert ended
    assert ended.problem == f"{MOST_DEATHS} workers died while they worked on this run"


def test_a_dispatcher_is_told_of_orders_by_priority_and_turns_and_again_after_a_while(queue: Queue) -> None:
    now = time.time()
    queue._clock = lambda: now
    alice, bob = [put(queue, "alice") for _ in range(3)], [put(queue, "bob") for _ in range(2)]
    urgent = put(queue, "alice", priority=1)
    orders = queue.unsubmitted()
    assert [order.run_id for order in orders] == [urgent, bob[0], alice[0], bob[1], *alice[1:]]
    assert [(order.principal, order.priority) for order in orders[:2]] == [("alice", 1), ("bob", 0)]
    assert [order.run_id for order in queue.unsubmitted(1)] == [urgent, bob[0]]
    queue.note_submitted(queue.unsubmitted(1))
    assert queue.unsubmitted(1) == []
    claimed = queue.take(orders[0], 1, "w")
    assert claimed
    queue.expect(claimed, 60)  # for an answer: others have its place
    assert [order.run_id for order in queue.unsubmitted(1)] == [alice[0]]
    queue.note_submitted(queue.unsubmitted())
    now += 61
    assert queue.unsubmitted() == [Submission(urgent, 1)]
    now += 600
    assert len(queue.unsubmitted()) == 6
