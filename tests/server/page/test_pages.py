"""The page as a browser without JavaScript sees it."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import httpx
import pytest
from tests.server.conftest import QUESTION, Served, events, finish, order, running
from tests.server.page.conftest import Browser, browser_of, form, text

from leadline_server.limits import Limits


def test_a_question_is_asked_watched_and_read_without_javascript(browser: Browser, served: Served) -> None:
    home = browser.open("/")
    assert "What do you want to know?" in text(home, "h1")
    asked = browser.submit(form(home, "/runs"), question=QUESTION)
    run = asked.url.path.removeprefix("/runs/")
    finish(served.client(), run)
    page = browser.open(f"/runs/{run}")
    assert QUESTION in text(page, "h1")
    cite = page.css_first(".report a.citation")
    assert cite is not None
    passage = browser.open(cite.attributes["href"] or "")
    assert text(passage, ".passage .where") == "example.org"
    assert passage.css_first(".stored mark") is not None
    for path in ("trail", "checks", "details"):
        assert text(browser.open(f"/runs/{run}/{path}"))
    share = text(browser.open(f"/runs/{run}/share"), "#confirm-form")
    assert "this server has no login. The link works on this computer only" in share
    assert "People who log in" not in share


def test_a_form_that_is_sent_twice_starts_one_run(browser: Browser) -> None:
    asking = form(browser.open("/"), "/runs")
    first, second = (browser.submit(asking, question=QUESTION) for _ in range(2))
    assert first.url == second.url


def test_a_faulty_question_comes_back_with_the_reason_and_what_was_written(browser: Browser) -> None:
    reply = browser.submit(form(browser.open("/"), "/runs"), 422, question="  ", tags="team=harbour")
    assert "Write a question." in reply.text
    assert 'value="team=harbour"' in reply.text
    none = browser.submit(form(browser.open("/"), "/runs"), 422, question=QUESTION, documents="some")
    assert "Select one or more documents" in none.text
    refused = browser.submit(form(browser.open("/"), "/runs"), 403, **{"set.runs.folder": "/tmp"}, question=QUESTION)
    assert "cannot be changed by a request" in refused.text


def test_a_running_run_reloads_itself_and_can_be_cancelled(browser: Browser, served: Served) -> None:
    with served.gate.closed():
        run = order(served.client(), "How far from the lighthouse was the wreck found in the survey?")
        assert events(served.client(), run, until="query")
        page = browser.open(f"/runs/{run}")
        refresh = page.css_first("noscript")
        assert refresh is not None
        assert "refresh" in (refresh.html or "")
        assert "Making" in text(page, ".doing")
        assert page.css_first("progress") is not None
        confirm = browser.open(f"/runs/{run}/cancel")
        browser.submit(form(confirm, f"/runs/{run}/cancel"))
    finish(served.client(), run)
    assert "This run was stopped" in text(browser.open(f"/runs/{run}"))


def test_past_runs_are_searched_filtered_compared_and_deleted(browser: Browser, served: Served, done: str) -> None:
    other = order(served.client(), tags={"team": "lantern"})
    finish(served.client(), other)
    listed = browser.open("/runs?tag=team%3Dlantern")
    assert [one.attributes["value"] for one in listed.css("input[name=run]")] == [other]
    assert done in (browser.open("/runs?q=harbour").html or "")
    assert "No run matches" in text(browser.open("/runs?q=zzzz"))
    assert done in (browser.open("/runs?pipeline=research&tag=team%3Dharbour").html or "")
    assert "No run matches" in text(browser.open("/runs?pipeline=chat"))
    compared = browser.open(f"/compare?run={done}&run={other}")
    assert "Neither report makes claims that could be compared" in text(compared)
    assert "Cost free free Tokens 0 0 Model calls 0 0" in text(compared, "table")
    assert "choose two runs" in text(browser.open(f"/compare?run={done}", 422)).lower()
    confirm = browser.open(f"/runs/{other}/delete")
    assert "The run was deleted." in browser.submit(form(confirm, f"/runs/{other}/delete")).text
    browser.open(f"/runs/{other}", 404)


def test_efforts_have_their_price_and_other_pipelines_say_what_they_lack(browser: Browser, done: str) -> None:
    page = browser.open("/")
    efforts = page.css("form.ask > .efforts input[name=pipeline]")
    assert [one.attributes["value"] for one in efforts] == ["search", "research", "longform full"]
    chosen = page.css_first("input[name=pipeline][checked]")
    assert chosen is not None
    assert chosen.attributes["value"] == "research"
    off = {one.attributes["value"] for one in page.css("input[name=pipeline][disabled]")}
    assert off == {"chat", "thinking", "code", "requirements", "audited"}
    assert page.css_first("input[name='set.verify.require_support'][disabled]"), (
        "a server without a model checks nothing"
    )
    assert "This server has no language model" in text(page, "#question-help")
    assert "About 400 words of quoted passages" in text(page, ".choice:has([value=research])")
    assert "Needs a language model, which this server does not have." in text(page, ".choice.off")
    assert "leadline " not in text(page)
    price = text(page, ".choice:has([value=research]) .price")
    assert re.fullmatch(r"about \d+ s · free", price), price


def test_an_effort_names_a_pipeline_and_a_preset(browser: Browser, served: Served) -> None:
    with served.gate.closed():
        asked = browser.submit(form(browser.open("/"), "/runs"), question=QUESTION, pipeline="longform full")
        run = asked.url.path.removeprefix("/runs/")
        events(served.client(), run, until="query")
        assert served.client().get(f"/v1/runs/{run}").json()["pipeline"] == "longform"
        served.client().post(f"/v1/runs/{run}/cancel")
    finish(served.client(), run)


@pytest.mark.parametrize(
    ("name", "begins"),
    [("pdf", b"%PDF"), ("docx", b"PK"), ("markdown", b"## "), ("latex", b"hyperref"), ("json", b"{")],
)
def test_every_format_can_be_downloaded_whether_it_was_ordered_or_not(
    browser: Browser, done: str, name: str, begins: bytes
) -> None:
    links = [one.attributes["href"] for one in browser.open(f"/runs/{done}").css(".downloads a[download]")]
    assert f"/runs/{done}/download/{name}" in links
    assert f"/runs/{done}/download/tables" not in links, "it has none"
    reply = browser.http.get(f"/runs/{done}/download/{name}")
    assert begins in reply.content[:4_000]
    assert "attachment" in reply.headers["content-disposition"]
    words = re.sub(r"\W+", "-", QUESTION[:60]).strip("-")
    assert re.search(rf'filename="{words}_\d{{4}}-\d\d-\d\d\.', reply.headers["content-disposition"])


def test_a_format_that_does_not_exist_names_those_that_do(browser: Browser, done: str) -> None:
    assert "Choose from" in text(browser.open(f"/runs/{done}/download/papyrus", 404))


def test_a_run_is_stopped_and_writes_up_what_was_found(browser: Browser, served: Served) -> None:
    with served.gate.closed():
        run = order(served.client(), "How many fathoms deep was the harbour at the first sounding in spring?")
        assert events(served.client(), run, until="query")
        confirm = browser.open(f"/runs/{run}/stop")
        assert "No further searches" in text(confirm, "#confirm-form")
        browser.submit(form(confirm, f"/runs/{run}/stop"))
    ended = finish(served.client(), run)
    assert "stopped on the page" in ended["reason"]["message"]
    assert "This run was stopped" in text(browser.open(f"/runs/{run}"))


def test_a_report_that_the_audit_rejected_says_why(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        run = order(server.client())
        finish(server.client(), run)
        path = server.folder / "runs" / run / "metadata.json"
        known = json.loads(path.read_text())
        path.write_text(json.dumps(known | {"audit": {"accepted": False, "reasons": ["2 claims are not supported"]}}))
        page = browser_of(server).open(f"/runs/{run}")
        assert "The audit rejected this report. 2 claims are not supported" in text(page, ".alert.bad")


def test_what_a_run_assumed_stands_above_its_report(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        run = order(server.client())
        finish(server.client(), run)
        path = server.folder / "runs" / run / "report.json"
        known = json.loads(path.read_text())
        known["metadata"]["method"]["assumptions"] = ["It means the outer <b>basin"]
        path.write_text(json.dumps(known))
        page = browser_of(server).open(f"/runs/{run}")
        assert text(page, ".alert").endswith("The report assumes: It means the outer <b>basin")


def test_many_claims_are_shown_in_pages_and_linked_from_the_report(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        run = order(server.client())
        finish(server.client(), run)
        path = server.folder / "runs" / run / "report.json"
        known = json.loads(path.read_text())
        claim = {"id": "c", "section_id": "s1", "text": "It is deep.", "span": [0, 1]}
        kinds = ["supported"] * 240 + ["contradicted"]
        known["verdicts"] = [{"claim": claim, "verdict": kind, "judge": "model"} for kind in kinds]
        path.write_text(json.dumps(known))
        browser = browser_of(server)
        first = browser.open(f"/runs/{run}/checks")
        claims = [item.attributes["id"] for item in first.css(".claims > li")]
        assert (len(claims), claims[0]) == (100, "claim-241"), "the worst come first"
        last = first.css(".filter[aria-label=Pages] a")[-1].attributes["href"] or ""
        assert len(browser.open(last).css(".claims > li")) == 41
        assert browser.open(f"/runs/{run}/checks?claim=150").css_first("#claim-150") is not None
        assert len(browser.open(f"/runs/{run}/checks?verdict=contradicted").css(".claims > li")) == 1


def test_a_follow_up_continues_the_run_and_both_are_listed(browser: Browser, served: Served, done: str) -> None:
    page = browser.open(f"/runs/{done}")
    asked = browser.submit(form(page, "/runs"), question=QUESTION)
    run = asked.url.path.removeprefix("/runs/")
    finish(served.client(), run)
    shown = browser.open(f"/runs/{run}")
    assert "follows the earlier question" in text(shown, ".crumbs")
    assert run in text(browser.open(f"/runs/{run}/details"), ".facts-list")
    assert len(shown.css(".thread li")) == 2
    assert "Ask a follow-up" in text(browser.open(f"/?again={run}"), "h1")


def test_tags_of_the_endpoint_for_chats_are_not_shown(browser: Browser, served: Served) -> None:
    run = order(served.client(), tags={"chat": "8c1f", "request": "77ab", "team": "pilots"})
    finish(served.client(), run)
    for path in ("/runs?tag=team%3Dpilots", f"/runs/{run}/details"):
        shown = text(browser.open(path))
        assert "pilots" in shown
        assert "8c1f" not in shown
        assert "77ab" not in shown


def test_a_run_is_renamed_pinned_tagged_and_asked_again_with_its_options(browser: Browser, served: Served) -> None:
    http, title = served.client(), "<script>alert(1)</script> Bathymetry"
    tags = {"chat": "8c1f", "request": "77ab", "team": "pilots"}
    body = {"question": QUESTION, "tags": tags}
    run = http.post("/v1/runs", json=body | {"set": {"language": "de", "report.length": 700}}).json()["run_id"]
    finish(http, run)
    finish(http, order(http, "Which tide?"))  # a newer one
    edit = form(browser.open(f"/runs/{run}/edit"), f"/runs/{run}/edit")
    shown = browser.submit(edit, title=f"  {title}\n", tags="team=pilots, year=2026, tide", pinned="on")
    assert (shown.url.path, "<script>alert" in shown.text) == (f"/runs/{run}", False)
    assert text(browser.open(f"/runs/{run}"), "h1") == title
    assert text(browser.open(f"/runs/{run}"), ".facts").endswith("Pinned team=pilots year=2026 tide")
    view = http.get(f"/v1/runs/{run}").json()
    assert view["tags"] == tags | {"year": "2026", "tide": ""}
    first = http.get("/v1/runs").json()["runs"][0]
    assert (first["run_id"], first["title"], first["pinned"]) == (run, title, True)
    assert [item["run_id"] for item in http.get("/v1/runs?q=bathymetry").json()["runs"]] == [run]
    http.post(f"/v1/runs/{run}/resume", json={})
    finish(http, run)
    changed = http.patch(f"/v1/runs/{run}", json={"pinned": False}).json()
    assert (changed["title"], changed["tags"], changed["pinned"]) == (title, view["tags"], False)
    assert http.patch(f"/v1/runs/{run}", json={"name": "x"}).status_code == 422
    again = browser.open(f"/?again={run}")
    values = {field.attributes["name"]: field.attributes.get("value") for field in again.css(".ask input")}
    assert (text(again, "#question"), values["set.report.length"]) == (QUESTION, "700")
    assert (values["tags"], text(again, "#language option[selected]")) == ("team=pilots, year=2026, tide", "Deutsch")


def test_a_question_of_the_run_is_a_form(tmp_path: Path) -> None:
    with running(tmp_path, clarify__mode="ask", plugins__clarify__rules="literal") as server:
        run = order(server.client(), "what is it")
        assert events(server.client(), run, until="question")
        browser = browser_of(server)
        page = browser.open(f"/runs/{run}")
        assert "Leadline asks" in text(page, ".question")
        assert "Go on without answering" in text(page, ".question")
        values = {"answer.string.answer": "The harbour of the survey: how deep is it?", "action": "accept"}
        browser.submit(form(page, f"/runs/{run}/answer"), 200, **values)
        finish(server.client(), run)
        assert "harbour of the survey" in (server.folder / "runs" / run / "clarify.json").read_text()


def test_a_plan_is_changed_in_a_field_of_several_lines(browser: Browser, served: Served) -> None:
    values = {"question": f"{QUESTION} changed", "set.plan.approve": "ask"}
    asked = browser.submit(form(browser.open("/"), "/runs"), 200, **values)
    run, http = asked.url.path.removeprefix("/runs/"), served.client()
    for answer, known in (("Aim: numbers", "This is the plan"), ("Search: lead lines", "line 2, 'Aim: numbers', must")):
        page = browser.open(f"/runs/{run}")
        while not page.css_first(".question") or known not in text(page, ".question .message"):
            time.sleep(0.02)
            page = browser.open(f"/runs/{run}")
        lines, shown = page.css_first(".question textarea"), text(page, ".question .message")
        assert lines is not None
        assert "Section: The" not in shown, "the plan is shown once"
        values = {"answer.string.plan": f"Section: The depth\r\n{answer}", "action": "accept"}
        browser.submit(form(page, f"/runs/{run}/answer"), 200, **values)
        typed = lines.text()
    assert typed == "Section: The depth\nAim: numbers"
    assert finish(http, run)["status"] == "complete"
    assert "**The depth**" in http.get(f"/v1/runs/{run}/files/plan.md").text
    assert browser.open(f"/?again={run}").css_first('input[name="set.plan.approve"][checked]') is not None


def test_a_team_logs_in_with_a_token_and_sees_only_its_own(team: Served) -> None:
    run = order(team.client("alice"))
    finish(team.client("alice"), run)
    browser = browser_of(team)
    login = browser.open(f"/runs/{run}")
    assert "Log in" in text(login, "h1")
    wrong = browser.submit(form(login, "/login"), 401, token="leadline_wrong")
    assert "not valid" in wrong.text
    shown = browser.submit(form(login, "/login"), token=team.tokens["alice"])
    assert shown.url.path == f"/runs/{run}"
    browser.submit(form(browser.open("/"), "/logout"))
    browser.submit(form(browser.open("/login"), "/login"), token=team.tokens["bob"])
    browser.open(f"/runs/{run}", 404)
    assert run not in (browser.open("/runs").html or "")
    assert "Settings" not in text(browser.open("/"), "nav"), "that is the operator's"


def test_errors_are_pages_for_people_and_json_for_programs(browser: Browser, http: httpx.Client) -> None:
    assert "Not found" in text(browser.open("/runs/00000000_20260101_000000", 404))
    assert "Not found" in text(browser.open("/nowhere", 404))
    assert http.get("/v1/nowhere").json()["code"] == "not_found"


def test_too_many_requests_is_a_page_with_the_time_to_wait(tmp_path: Path) -> None:
    with running(tmp_path, limits=Limits(requests=2)) as server:
        browser = browser_of(server)
        for _ in range(2):
            browser.open("/")
        page = browser.open("/", 429)
        assert "Too many requests" in text(page, "h1")
        assert "Try again in" in text(page)


def test_settings_show_origins_and_what_plugins_lack(browser: Browser) -> None:
    assert "Settings" in text(browser.open("/"), "nav")
    page = browser.open("/settings")
    assert "search.engines" in text(page)
    assert "What is missing" in text(page)
