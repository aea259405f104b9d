"""The web page in a real browser: Debian's Chromium, driven by playwright; axe-core checks accessibility.

`SCREENSHOTS=FOLDER` keeps a picture of each state.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
playwright = pytest.importorskip("playwright.async_api", reason="needs pip install playwright")
axe = pytest.importorskip("axe_playwright_python.base", reason="needs pip install axe-playwright-python")
CHROMIUM = shutil.which("chromium")
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking")
PATIENCE = 120.0
HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'><svg onload=alert(3)>"
HARBOUR = f"""# Harbour soundings {HOSTILE}

The harbour master of the port measured the harbour at nine fathoms at the first sounding, near the eastern pier.

At the second sounding the harbour was seven fathoms deep, because sand had filled the channel since 1952.

[A link](javascript:alert(4)) and {HOSTILE} stand in this survey of the harbour depth.
"""
CHINESE = """# 港口测深

港口管理局在第一测点测得港口水深为九英寻,位置靠近东码头。

第二测点的港口水深为七英寻,因为自一九五二年以来泥沙淤积了航道。
"""
QUESTION = "How deep was the harbour at the first and second sounding, in fathoms?"


class Server:
    """`leadline serve` as a process of its own that can be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [sys.executable, "-m", "leadline", "serve", "--port", str(self.port), "--max-requests", "100000"]
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache")}
        with (self.folder / "serve.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self.folder, stdout=log, stderr=log, env=environment, start_new_session=True
            )
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self._process.poll() is None:
            try:
                if httpx.get(f"{self.url}/readyz", trust_env=False).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise AssertionError((self.folder / "serve.log").read_text())

    def kill(self) -> None:
        """End the server and its workers at once."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def end(self) -> None:
        if self._process:
            self.kill()


SETTINGS = """
[clarify]
mode = "ask"
timeout = 600

[local]
folders = ["docs"]

[search]
engines = ["local"]

[report]
formats = ["markdown", "html", "json", "pdf"]
"""
# The clarification of `audited` would stop its question.
MODEL = """
[clarify]
mode = "off"

[local]
folders = ["docs"]

[search]
engines = ["local"]

[ai]
providers = ["openai"]

[plugins.openai]
base_url = "{url}"
model = "emulated"
"""


def served(folder: Path, settings: str) -> Server:
    """Return a server with documents that has not started."""
    docs = folder / "docs"
    docs.mkdir()
    (docs / "harbour.md").write_text(HARBOUR, "utf-8")
    (docs / "港口.md").write_text(CHINESE, "utf-8")
    (docs / "a <img src=x onerror=alert(5)>.md").write_text("# Pier\n\nThe eastern pier of the harbour is of oak.\n")
    (folder / "leadline.toml").write_text(settings, "utf-8")
    return Server(folder)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    found = served(tmp_path, SETTINGS)
    try:
        found.start()
        yield found
    finally:
        found.end()


class Visitor:
    """A browser that notices complaints, dialogs, and requests to other hosts."""

    def __init__(self, context: Any, page: Any, host: str) -> None:
        self.context, self.page = context, page
        self.told: list[str] = []
        self._host = host
        self._watch(page)

    def _watch(self, page: Any) -> None:
        page.on("console", lambda message: self.told.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.told.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.told.append(f"dialog: {dialog.message}"))
        page.on("request", self._asked)

    def _asked(self, request: Any) -> None:
        if urlsplit(request.url).netloc != self._host:
            self.told.append(f"request: {request.url}")

    async def reopen(self) -> None:
        """Close the tab and open another one."""
        await self.page.close()
        self.page = await self.context.new_page()
        self._watch(self.page)

    async def ask(self, server: Server, question: str, pipeline: str) -> None:
        """Ask by a pipeline; return on the page of the run."""
        await self.page.goto(server.url)
        await self.page.eval_on_selector_all("details.more", "all => all.forEach(one => one.open = true)")
        await self.page.fill("#question", question)
        await self.page.check(f"input[value={pipeline}]")
        await self.page.click(".ask button.main")
        await self.page.wait_for_url(re.compile("/runs/"))

    async def look(self, name: str) -> None:
        """Keep a picture, and check accessibility in light and dark."""
        folder = os.environ.get("SCREENSHOTS")
        for scheme in ("light", "dark"):
            await self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            if folder:
                for width in (1280, 400):
                    await self.page.set_viewport_size({"width": width, "height": 900})
                    await self.page.screenshot(path=Path(folder, f"{name}-{width}-{scheme}.png"), full_page=True)
                await self.page.set_viewport_size({"width": 1280, "height": 900})
            found = await self.page.evaluate(f"{axe.AXE_FILE_PATH.read_text()}\n;axe.run(document)")
            problems = [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found["violations"]]
            assert not problems, (name, scheme, problems)
        await self.page.emulate_media(color_scheme="light")


async def no_reply_in_json(run: str) -> None:
    """Look at the draft of a run until it ends."""
    async with httpx.AsyncClient(trust_env=False, timeout=PATIENCE) as client:
        while "data-live" in (page := (await client.get(run)).text):
            draft = page.partition('id="part-draft"')[2].partition("</section>")[0]
            assert '":' not in html.unescape(draft)
            await asyncio.sleep(0.3)


@asynccontextmanager
async def visiting(server: Server, **options: Any) -> AsyncIterator[Visitor]:
    if CHROMIUM is None:
        pytest.skip("needs the Debian package chromium")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        context = await browser.new_context(viewport={"width": 1280, "height": 900}, **options)
        context.set_default_timeout(PATIENCE * 1000)
        yield Visitor(context, await context.new_page(), urlsplit(server.url).netloc)
        await browser.close()


async def test_a_run_survives_its_tab_and_its_server_and_is_read_with_its_evidence(server: Server) -> None:
    async with visiting(server) as visitor:
        await visitor.page.goto(server.url)
        await visitor.look("1-empty")
        await visitor.page.fill("#question", "what is it")
        await visitor.page.click(".ask button.main")
        await visitor.page.wait_for_url(re.compile("/runs/"))
        run = visitor.page.url
        await visitor.page.wait_for_selector(".question [name='answer.string.answer']")
        assert re.search(r"\d+:\d\d left", " ".join((await visitor.page.inner_text(".question")).split()))
        await visitor.look("2-question")

        await visitor.reopen()
        await visitor.page.goto(run)
        await visitor.page.wait_for_selector(".question")
        assert visitor.told == []
        server.kill()
        await visitor.page.wait_for_selector("#offline", state="visible")
        await visitor.page.fill("[name='answer.string.answer']", QUESTION)
        visitor.told.clear()  # the browser itself complains of the lost connection
        server.start()
        await visitor.page.wait_for_selector("#offline", state="hidden")
        assert await visitor.page.input_value("[name='answer.string.answer']") == QUESTION
        visitor.told.clear()
        await visitor.page.click("button[value=accept]")
        await visitor.page.wait_for_selector("#report")
        assert visitor.page.url == run
        await visitor.look("3-report")

        await visitor.page.click(".report .citation >> nth=0")
        await visitor.page.wait_for_selector("#evidence mark.is-passage")
        assert "fathoms" in await visitor.page.inner_text("#evidence")
        await visitor.look("4-evidence")
        await visitor.page.keyboard.press("j")
        await visitor.page.keyboard.press("Escape")
        assert await visitor.page.evaluate("document.activeElement.className.includes('citation')")
        async with visitor.page.expect_download() as download:
            await visitor.page.click("text=PDF")
        assert Path(await (await download.value).path()).read_bytes().startswith(b"%PDF")
        for tab in ("trail", "checks", "details"):
            await visitor.page.goto(f"{run}/{tab}")
            await visitor.look(f"5-{tab}")
        await visitor.page.goto(await visitor.page.evaluate("location.origin") + urlsplit(run).path)
        async with visitor.page.expect_download() as download:  # not ordered: made on demand
            await visitor.page.click("text=Word")
        assert Path(await (await download.value).path()).read_bytes().startswith(b"PK")
        await visitor.page.click("text=Ask a follow-up")
        await visitor.page.fill("#follow", "How deep is the harbour at the eastern pier, by the survey of the port?")
        await visitor.page.click(".follow-up button.main")
        await visitor.page.wait_for_url(lambda url: "/runs/" in url and not url.startswith(run))
        await visitor.page.wait_for_selector("#report, .outcome")

        await visitor.page.fill("#find", "harbour")
        await visitor.page.keyboard.press("Enter")
        await visitor.page.wait_for_selector("ol.runs")
        assert await visitor.page.locator("ol.runs > li").count() == 2
        await visitor.look("6-runs")
        for box in await visitor.page.locator("input[name=run]").all():
            await box.check()
        await visitor.page.click("[data-compare]")
        await visitor.page.wait_for_url(re.compile("/compare"))
        assert await visitor.page.inner_text("h1") == "Compare two reports"
        await visitor.look("7-compare")
        await visitor.page.goto(f"{server.url}/settings")
        await visitor.look("8-settings")
        await visitor.page.goto(run)
        await visitor.page.click("text=Manage")
        await visitor.page.click("text=Delete …")
        await visitor.page.wait_for_selector("dialog[open]")
        await visitor.look("9-delete")
        await visitor.page.click("dialog >> text=Delete for good")
        await visitor.page.wait_for_url(re.compile(r"/runs\?deleted="))
        assert visitor.told == []
        response = await visitor.page.goto(run)
        assert response.status == 404
        await visitor.look("10-not-found")


_DROP = """() => {
    const data = new DataTransfer();
    data.items.add(new File(["# Pier\\n\\nThe eastern pier is of oak, 40 fathoms long.\\n"], "pier.md"));
    return data;
}"""


async def test_documents_are_dropped_opened_removed_and_asked(server: Server, tmp_path: Path) -> None:
    soundings = tmp_path / "soundings"
    soundings.mkdir()
    (soundings / "second.md").write_text(
        "# Second sounding\n\nThe second sounding was of 12 fathoms in 1871.\n", "utf-8"
    )
    async with visiting(server) as visitor:
        page = visitor.page
        await page.goto(f"{server.url}/documents")
        await page.wait_for_selector("text=shared folder")
        await visitor.look("documents")
        await page.dispatch_event("#upload", "drop", {"dataTransfer": await page.evaluate_handle(_DROP)})
        await page.wait_for_selector("tr:has-text('pier.md')")
        await page.set_input_files("input[webkitdirectory]", soundings)
        await page.wait_for_selector(".collection-name:has-text('soundings')")
        await visitor.look("documents-collections")
        await page.check("tr:has-text('pier.md') input")
        await page.click("button[value=removed]")
        await visitor.look("documents-removed")
        await page.click("text=Undo")
        await page.wait_for_selector("tr:has-text('pier.md')")
        await page.fill("#q", "second sounding")
        await page.keyboard.press("Enter")
        await page.click(".found a >> nth=0")
        await page.wait_for_selector(".piece")
        await visitor.look("document")
        await page.goto(f"{server.url}/documents")
        await page.check("input[value='soundings/']")
        await page.click("button[value=ask]")
        await page.fill("#question", "How deep was the second sounding of the harbour, and in which year?")
        await visitor.look("documents-ask")
        await page.click(".ask button.main")
        await page.wait_for_selector("#report .citation")
        assert "12 fathoms" in await page.inner_text("#report")
        assert visitor.told == []


async def test_runs_with_a_model_are_watched_stopped_and_rejected(tools: Any, tmp_path: Path) -> None:
    with tools.emulator(first_token=0.2, tokens_per_second=80) as world:
        server = served(tmp_path, MODEL.format(url=world.base_url))
        try:
            server.start()
            async with visiting(server) as visitor:
                for name in ("chat", "thinking", "requirements"):
                    await visitor.ask(server, QUESTION, name)
                    await visitor.page.wait_for_selector("#report")
                    await visitor.look(name)
                await visitor.ask(server, "How deep was the harbour, and why did it change?", "research")
                await visitor.page.wait_for_selector(".draft p:not(:empty)")
                await visitor.look("draft")
                await no_reply_in_json(visitor.page.url)
                await visitor.page.wait_for_selector("#report")
                await visitor.ask(server, "Which soundings of the harbour were made since 1952?", "research")
                await visitor.page.wait_for_selector(".cards li")  # no look here: the run would end meanwhile
                await visitor.page.click("text=Stop and write up")
                await visitor.page.click("dialog >> text=Stop and write up")
                await visitor.page.wait_for_selector("#report, .outcome")
                assert "You stopped" in await visitor.page.inner_text("main")
                await visitor.look("stopped")
                await visitor.ask(server, QUESTION, "audited")
                await visitor.page.wait_for_selector(".alert.bad, .outcome, #report")
                await visitor.look("audited")
                assert visitor.told == []
        finally:
            server.end()


async def test_chinese_reports_and_runs_without_evidence_are_shown(server: Server) -> None:
    async with visiting(server) as visitor:
        for name, question in {
            "chinese": "港口在第一测点和第二测点的水深各是多少英寻?",
            "no-evidence": "Which quarks did zebras and flamingos weigh?",
        }.items():
            await visitor.page.goto(server.url)
            await visitor.page.fill("#question", question)
            await visitor.page.click(".ask button.main")
            await visitor.page.wait_for_selector("#report, .outcome")
            await visitor.look(name)
        assert "No answer was found" in await visitor.page.inner_text("main")
        await visitor.page.goto(f"{server.url}/runs?q=测点")
        assert await visitor.page.locator("ol.runs > li").count() == 1
        now = datetime.now()
        for days, heading in ((0, "Today"), (1, "Yesterday"), (40, f"{now:%B %Y}")):
            await visitor.page.clock.set_fixed_time(now + timedelta(days=days))
            await visitor.page.goto(f"{server.url}/runs")
            assert await visitor.page.locator(".list h2").all_inner_texts() == [heading]
        await visitor.look("runs-by-day")
        assert visitor.told == []


async def test_text_of_third_parties_is_harmless_on_every_page(server: Server) -> None:
    question = f"{QUESTION} {HOSTILE} javascript:alert(6)"
    async with (
        visiting(server) as visitor,
        httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=PATIENCE) as client,
    ):
        asked = {"question": question, "tags": {HOSTILE[:50]: HOSTILE}, "set": {"research.max_queries": 4}}
        run = (await client.post("/v1/runs", json=asked)).json()["id"]
        plain = (await client.post("/v1/runs", json={"question": QUESTION})).json()["id"]
        for name in (run, plain):
            await visitor.page.goto(f"{server.url}/runs/{name}")
            await visitor.page.wait_for_selector("#report, .outcome")
        report = (await client.get(f"/v1/runs/{plain}/files/report.json")).json()
        passages = ",".join(one["id"] for one in report["evidence"][:8])
        paths = [
            *(f"/runs/{name}{tab}" for name in (run, plain) for tab in ("", "/trail", "/details", "/delete")),
            *(f"/runs/{plain}/checks", f"/runs/{plain}/evidence/{passages}", f"/compare?a={plain}&b={plain}"),
            *(
                "/",
                "/runs",
                "/settings",
                f"/?question={HOSTILE}",
                f"/runs?q={HOSTILE}&tag={HOSTILE}",
                f"/?follows={run}",
            ),
            f"/v1/runs/{plain}/files/report.html",
        ]
        visitor.told.clear()
        for path in paths:
            await visitor.page.goto(server.url + path)
            await visitor.page.wait_for_load_state("networkidle")
            links = await visitor.page.eval_on_selector_all("[href], [src]", "all => all.map(x => x.href || x.src)")
            assert not [link for link in links if str(link).startswith(("javascript:", "data:text"))], path
            assert not await visitor.page.query_selector("[onerror], [onload]"), path
        assert [one for one in visitor.told if not one.startswith("console")] == []


async def test_everything_works_without_javascript(server: Server) -> None:
    async with visiting(server, java_script_enabled=False) as visitor:
        await visitor.page.goto(server.url)
        await visitor.page.fill("#question", QUESTION)
        await visitor.page.click(".ask button.main")
        await visitor.page.wait_for_selector("#report")  # the page loads itself again
        await visitor.page.click(".report .citation >> nth=0")
        await visitor.page.wait_for_selector("#evidence-body mark")
        await visitor.page.click("text=Back to the report")
        await visitor.page.click("text=Manage")
        await visitor.page.click("text=Delete …")
        await visitor.page.click("text=Delete for good")
        await visitor.page.wait_for_selector("text=No runs yet")
        assert visitor.told == []
