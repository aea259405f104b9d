"""The contracts find what is wrong with a plugin, and nothing in one that is right."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import leadline
from leadline.testing.contracts.checks import start

# One of the tests waits for several hundred others, also on a machine that is busy.
pytestmark = pytest.mark.timeout(1800)
HERE = Path(__file__).parent
BROKEN = [str(HERE / name) for name in ("broken_asked.py", "broken_made.py", "broken_steps.py")]
_FAILED = re.compile(r"FAILED \S+::(\w+)::test_(\w+)\[(?:.*-)?(\w+)\](?: - (.*))?")
FINDS = {
    "none": ("it_answers", "the reply is NoneType, not SearchPage"),
    "dict": ("it_answers", "the reply is dict, not SearchPage"),
    "str": ("it_answers", "the reply is str, not SearchPage"),
    "unchecked": ("it_answers", "the reply does not survive JSON: "),
    "not_json": ("it_answers", "the reply does not survive JSON: "),
    "sync": ("it_answers", "write `async def search`"),
    "own_fault": ("it_answers", "raised KeyError: 'region' at "),
    "odd_error": ("it_answers", "raised OddError: its text cannot be read"),
    "exits": ("it_answers", "raised SystemExit: bye"),
    "cancels_itself": ("it_answers", "raised CancelledError"),
    "key_in_error": ("it_answers", "the message of its ConnectionError contains a secret"),
    "key_in_hit": ("its_secrets_stay_inside", "a secret is in the reply"),
    "hangs": ("it_answers", "did not answer within 0.5 s"),
    "stubborn": ("it_lets_itself_be_cancelled", "does not end within 2 s after its cancellation"),
    "swallows": ("it_lets_itself_be_cancelled", "returns SearchPage although it was cancelled"),
    "leaves_a_task": ("it_leaves_nothing_running", "leaves tasks running after its answer"),
    "blocks": ("it_leaves_the_event_loop_free", "blocked the event loop for"),
    "shared": ("it_answers_ten_at_once", "concurrent requests got a different reply than alone"),
    "bad_offer": ("the_host_takes_the_offer", "summary must be one line"),
    "many": ("it_gives_no_more_than_is_wanted", "returns 50 hits for a limit of 1"),
    "no_address": ("it_answers", "returns a hit without an address"),
    "script": ("it_answers", "returns an address that is not a page: javascript:alert(1)"),
    "no_date": ("it_answers", "returns a date that is not ISO 8601: 'yesterday'"),
    "traits_none": ("its_traits_are_known_at_once", "traits('') is NoneType, not ModelTraits"),
    "traits_raise": ("its_traits_are_known_at_once", "traits('') raised KeyError"),
    "traits_zero": ("its_traits_are_known_at_once", "has a context of 0 tokens"),
    "stream_short": ("it_answers", "the streamed pieces of text differ from the reply"),
    "negative": ("it_answers", "raised ValueError: spend() takes no negative figures"),
    "no_usage": ("it_answers", "raised TypeError: spend() takes a Usage, not dict"),
    "role": ("it_answers", "the role of the reply is 'user'"),
    "tool": ("it_answers", "calls tools that the request does not offer: ['rm']"),
    "accepts_raises": ("it_says_what_it_accepts", "accepts('x:1') raised KeyError"),
    "accepts_yes": ("it_says_what_it_accepts", "accepts('x:1') returned 'yes'"),
    "too_large": ("it_keeps_to_what_is_wanted", "returns 12 bytes for a limit of 1"),
    "no_type": ("it_answers", "returns an invalid media type"),
    "breaks": ("a_broken_file_is_a_failure_and_no_fault", "raised UnicodeDecodeError"),
    "pages": ("it_answers", "page offsets are not ascending or not in the text: (9000,)"),
    "outside": ("it_answers", "block 1 is from 5 to 9999, but must lie from 0 to 12"),
    "overlap": ("it_answers", "block 2 is from 5 to 12, but must lie after 6 to 12"),
    "stale": ("it_answers", "blocks are those of the old text: give new ones, or blocks=()"),
    "escapes": ("it_answers", "returns a file name outside the folder of the run: '../x.txt'"),
    "absolute": ("it_answers", "returns a file name outside the folder of the run: '/x.txt'"),
    "journal": ("it_answers", "replaces a file of Leadline: journal.sqlite"),
    "no_files": ("it_answers", "returns no file"),
    "twice": ("it_answers", "uses a file name twice"),
    "writes": ("it_writes_nothing_itself", "writes files"),
    "no_png": ("it_answers", "returns data that is not image/png"),
    "no_media": ("it_answers", "returns no picture"),
    "other_id": ("it_answers", "returns figure 'other' instead of 'c1'"),
    "uncited": ("it_answers", "returns text without a citation"),
    "invented": ("it_answers", "cites evidence that is not in the book: ['nosuch']"),
    "fewer": ("it_answers", "returns 1 vectors for 5 texts"),
    "uneven": ("it_answers", "returns vectors of different lengths: [2, 4, 6, 8, 10]"),
    "nan": ("it_answers", "the reply does not survive JSON"),
    "fewer_scores": ("it_answers", "returns 1 scores for 4 texts"),
    "unasked": ("it_answers", "judges claims that are not in the request: ['9.9']"),
    "unquoted": ("it_answers", "supports claim 1.1 without a quote"),
    "misquotes": ("it_answers", "quotes words that its passage does not contain: 'Nine leagues.'"),
    "uncited_passage": ("it_answers", "quotes passage 'e9', which claim 1.1 does not cite"),
    "oversure": ("it_answers", "has confidence 90.0"),
    "judges_twice": ("it_answers", "judges a claim twice"),
    "credulous": ("a_claim_without_a_passage_is_not_supported", "without a quote"),
    "gives_up": ("it_does_without_an_engine_that_fails", ""),
    "empty": ("it_raises_where_all_engines_fail", "if all engines fail; raise their failures"),
    "hides": ("it_raises_where_all_engines_fail", "raises ExceptionGroup"),
    "invents": ("it_answers", "returns hits that no engine returned: ['made:up']"),
    "reads_undeclared": ("it_answers", "reads 'other', but its offer needs and wants only: choice, depths"),
    "needs_wanted": ("it_does_without_what_it_only_wants", "raised AttributeError: 'NoneType' object has no attribute"),
    "wrong_type": ("it_answers", "writes a Choice to 'deepest', which holds Deepest"),
    "unstable": ("it_answers_ten_at_once", "deepest.depth: '11' alone, '1' at once"),
    "writes_nothing": ("it_answers", "does not write deepest, which its offer gives"),
    "returns": ("it_answers", "returns StageFindings; a stage writes to `findings` and returns nothing"),
    "asks_nobody": ("it_answers", "raised NeedsClarification: Which one?"),
    "maps_to_none": ("it_answers", "raised TypeError: 'NoneType' object is not iterable"),
    "maps_to_other": ("it_answers", "returns a Choice; its offer gives Deepest"),
    "rests_wrongly": ("it_answers", "returns a Choice; its offer gives Deepest"),
    "not_live": ("it_says_whether_pieces_may_pass_before_the_reply", "`live` is 'yes'"),
    "knows_three": ("a_call_of_an_unknown_kind_passes", "raised KeyError: <class "),
    "changes_type": ("it_answers", "the reply is SearchRequest, not ChatRequest"),
    "refuses": ("it_answers", "failed instead of returning a reply: Refused: not in this house"),
    "stumbles": ("a_failure_of_the_provider_is_no_fault_of_it", "raised KeyError: 'status' at "),
    "replies_wrongly": ("it_answers", "the reply is str, not ChatReply"),
    "odd_deltas": ("it_says_whether_it_takes_pieces", "`deltas` is 'some'"),
    "knows_all": ("it_answers", "raised ValueError: no such event"),
    "needs_data": ("it_answers", "raised KeyError: 'kind' at "),
    "mixes_runs": ("it_keeps_runs_apart", "raised AssertionError"),
    "observes_wrongly": ("it_answers", "returns Event for run.started; an observer returns nothing"),
    "leaks_a_client": ("it_closes_what_it_opens", "leaves open after its end: a httpx.AsyncClient made at "),
    "leaks_each_call": ("it_closes_what_it_opens", "broken_steps.py:"),
    "leaks_a_connection": ("it_closes_what_it_opens", "leaves open after its end: a connection made at "),
    "sleeps": ("it_leaves_the_event_loop_free", "broken_steps.py:"),
    "starts_a_task": ("it_leaves_nothing_running", "leaves tasks running after its answer: refresher, created at "),
    "varies": ("it_answers_ten_at_once", "hits[1].title: '11' alone, '"),
    "heavy": ("it_imports_nothing_heavy_at_the_top", "the module heavy_plugin imports bulky (71 modules) at its top"),
    "native": ("it_imports_nothing_heavy_at_the_top", "MB of native code) at its top"),
    "asks_synchronously": ("it_answers", "makes a synchronous request on the event loop at "),
    "prints_its_key": ("its_secrets_stay_inside", "a secret is in what it prints"),
    "reads_the_clock": ("its_replies_do_not_depend_on_the_clock", "broken_steps.py:"),
    "unsafe_link": ("it_answers", "x.html has a link that runs a script"),
    "typo": ("it_answers", "raised TypeError: Blob has no field 'media_typ': did you mean 'media_type'?"),
    "required": ("it_imports_nothing_heavy_at_the_top", "the module required_plugin imports wave at its top"),
    "lets_run": ("it_waits_for_no_engine_for_ever", "leaves engines running after its cancellation"),
}


# Where the reply is right, nothing else is wrong.
ALONE = (
    *("stubborn", "swallows", "leaves_a_task", "blocks", "shared", "key_in_hit", "leaks_a_client", "leaks_each_call"),
    *("leaks_a_connection", "sleeps", "starts_a_task", "varies", "heavy", "required", "unstable"),
)


@pytest.fixture(scope="module")
def failed() -> dict[str, dict[str, str]]:
    """Run the contracts over the broken plugins; returns, by what is wrong, the tests that failed and why."""
    own = [str(Path(leadline.__file__).parents[1]), str(HERE / "modules")]
    places = os.pathsep.join(dict.fromkeys([*own, *filter(None, sys.path)]))
    command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "only_wanted", *BROKEN]
    # What broken plugins leave open is collected during tests of others, and would warn there.
    command += ["-p", "no:unraisableexception"]
    # All tests of what is right or wrong in one way alone; of all others the one that is to fail.
    wanted = json.dumps({how: test for how, (test, _) in FINDS.items() if how not in ALONE})
    environ = {**os.environ, "PYTHONPATH": places, "COLUMNS": "1000", "WANTED": wanted}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, cwd=HERE.parents[2], timeout=1700)
    assert done.returncode == 1, done.stdout[-2000:] + done.stderr
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for _, test, how, why in _FAILED.findall(done.stdout):
        found[how].setdefault(test, why)
    assert " error" not in done.stdout.splitlines()[-1]
    return found


@pytest.mark.parametrize("how", FINDS)
def test_each_planted_mistake_is_found(how: str, failed: dict[str, dict[str, str]]) -> None:
    test, why = FINDS[how]
    assert why in failed[how][test]


def test_right_plugins_pass(failed: dict[str, dict[str, str]]) -> None:
    assert set(failed) == set(FINDS)
    assert {"good", "sleeps_elsewhere"}.isdisjoint(failed)


def test_a_mistake_beside_a_right_reply_fails_one_test(failed: dict[str, dict[str, str]]) -> None:
    for how in ALONE:
        assert set(failed[how]) == {FINDS[how][0]}


def test_nothing_but_tests_imports_pytest() -> None:
    """A plain install has none."""
    code = "import leadline.testing.fakes, leadline.testing.runs, leadline.cli, leadline.api, sys"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print('pytest' in sys.modules)"], capture_output=True, text=True
    )
    assert done.stdout == "False\n", done.stderr


async def test_an_error_that_comes_after_the_end_of_a_test_is_not_logged_when_its_task_is_collected() -> None:
    """In Python 3.11 a traceback that is logged by the collector during `ast.parse` makes that raise SystemError."""

    async def fail() -> None:
        raise AssertionError

    logged: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, details: logged.append(details))
    await asyncio.wait({start(fail())})
    gc.collect()
    assert not logged
