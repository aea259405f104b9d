"""Ask twice in a chat of a real Open WebUI; count its requests to `leadline serve`, and the runs.

    python tests/benchmarks/open_webui.py PATH/TO/open-webui [--pictures FOLDER]

The program `open-webui` is best installed into an environment of its own; `playwright` and Chromium drive its page.
Expected are 2 runs: what the front end asks besides (titles, tags, suggestions) starts none.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import Page, sync_playwright

QUESTIONS = ("How many feet is a fathom?", "And how many fathoms is a cable?")


def serve(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start a server over two documents; return it with its address."""
    (folder / "docs").mkdir()
    (folder / "docs" / "lengths.txt").write_text("A fathom is six feet.\n\nA cable is a hundred fathoms.\n")
    command = [sys.executable, "-m", "leadline", "serve", "--port", "0", "--docs", "docs"]
    server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    assert server.stderr
    url = re.search(r"http://\S+", server.stderr.readline())
    assert url
    return server, url[0]


def open_webui(program: str, folder: Path, url: str, port: int) -> subprocess.Popen[bytes]:
    """Start Open WebUI without users, for one model server, and without other services."""
    data = folder / "open-webui"
    data.mkdir()
    own = {"DATA_DIR": str(data), "WEBUI_AUTH": "False", "WEBUI_SECRET_KEY": "test", "OFFLINE_MODE": "true"}
    models = {"OPENAI_API_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "none", "ENABLE_OLLAMA_API": "False"}
    environment = {**os.environ, **own, **models, "RAG_EMBEDDING_ENGINE": "openai"}
    command = [program, "serve", "--host", "127.0.0.1", "--port", str(port)]
    with (folder / "open-webui.log").open("wb") as log:
        return subprocess.Popen(command, cwd=data, env=environment, stdout=log, stderr=subprocess.STDOUT)


def chat(page: Page, address: str, pictures: Path | None) -> None:
    """Ask the questions one after the other, each after the whole answer."""
    page.goto(f"{address}/?models=leadline-research", timeout=120_000)
    page.wait_for_selector("#chat-input", timeout=120_000)
    page.keyboard.press("Escape")
    for number, question in enumerate(QUESTIONS, start=1):
        page.click("#chat-input")
        page.keyboard.type(question)
        page.keyboard.press("Enter")
        page.wait_for_function(
            "count => document.body.innerText.split('Report, passages and downloads').length > count",
            arg=number,
            timeout=120_000,
        )
        page.wait_for_timeout(10_000)  # for its side requests
        if pictures:
            page.screenshot(path=pictures / f"open-webui-{number}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask through a real Open WebUI.")
    parser.add_argument("program", help="the program open-webui")
    parser.add_argument("--port", type=int, default=18_080)
    parser.add_argument("--pictures", type=Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as top, sync_playwright() as play, httpx.Client(trust_env=False) as http:
        server, url = serve(Path(top))
        front, address = open_webui(args.program, Path(top), url, args.port), f"http://127.0.0.1:{args.port}"
        try:
            for _ in range(240):
                try:
                    if http.get(f"{address}/health").status_code == 200:
                        break
                except httpx.TransportError:
                    time.sleep(0.5)
            browser = play.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
            chat(browser.new_page(viewport={"width": 1200, "height": 900}), address, args.pictures)
            runs: list[dict[str, Any]] = http.get(f"{url}/v1/runs").json()["runs"]
            counted = re.findall(r'completions",status="200"\} (\S+)', http.get(f"{url}/metrics").text)
            browser.close()
        finally:
            front.terminate()
            server.terminate()
            front.wait()
            server.wait()
    print(f"{len(QUESTIONS)} questions, {float(counted[0]):.0f} requests, {len(runs)} runs")
    for run in reversed(runs):
        print(f"  {run['status']}: {run['question']}")


if __name__ == "__main__":
    main()
