"""The commands and examples of the how-to guides, against a real server."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import trustme
import yaml
from tests.server.conftest import PATIENCE, QUESTION, Served, finish, running

from leadline.cli.commands import parse

ROOT = Path(__file__).parents[2]
SERVE, CLIENTS = (ROOT / "docs" / "how-to" / name for name in ("serve.md", "clients.md"))
EXAMPLES = ROOT / "examples" / "serve"
HOST = "research.example"
_ASKED = "How many feet is a fathom?"


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}(?: [^\n]*)?\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def team_of_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with running(tmp_path_factory.mktemp("guide"), "alice") as server:
        # While plugins are loaded, what they print is redirected, and with it what a test of this process prints.
        deadline = time.monotonic() + PATIENCE
        while server.client().get("/readyz").status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.05)
        yield server


def adapted(text: str, server: Served) -> str:
    """Return an example with the address, the token and a question of the test."""
    text = text.replace("http://127.0.0.1:8327", server.url).replace("TOKEN", server.tokens["alice"])
    return text.replace(_ASKED, QUESTION)


def test_the_python_examples_work(team_of_one: Served, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("openai", reason="needs the client of OpenAI's API: pip install openai")
    names: dict[str, Any] = {}
    for code in blocks(CLIENTS, "python"):
        exec(compile(adapted(code, team_of_one), str(CLIENTS), "exec"), names)
    names["client"].close()
    assert names["state"]["status"] in ("complete", "partial")
    assert names["report"].startswith("# ")
    shown = capsys.readouterr().out
    assert "- search" in shown
    assert "Report, passages and downloads" in shown
    assert names["reply"].leadline["url"] in shown


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_curl_commands_work(team_of_one: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run, replies = "", []
    commands = [
        line
        for block in blocks(CLIENTS, "sh")
        for line in block.replace("\\\n", "").splitlines()
        if line.startswith("curl")
    ]
    assert len(commands) == 8
    for command in commands:
        words = shlex.split(
            adapted(command, team_of_one).replace("=ID", f"={run}").replace("/ID", f"/{run}"), comments=True
        )
        done = subprocess.run(
            [*words, "--fail-with-body", "--noproxy", "*"], capture_output=True, text=True, check=True
        )
        replies.append(done.stdout)
        run = run or re.search(r'"id":"(\w+)"', done.stdout)[1]  # type: ignore[index]
    assert "event: run.finished" in replies[1]
    assert '"status":"complete"' in replies[2]
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# ")
    assert '"object":"chat.completion"' in replies[4]
    assert '"task_id"' in replies[5]
    assert '"progress":100' in replies[6]
    assert [path.suffix for path in tmp_path.glob("research_report_*")] == [".md"]


def test_the_leadline_commands_of_the_guides_are_ones() -> None:
    texts = [
        *blocks(SERVE, "console"),
        *blocks(CLIENTS, "sh"),
        *re.findall(r"`(leadline serve[^`]*)`", SERVE.read_text()),
    ]
    texts += re.findall(r"^ExecStart=(.*)$", (EXAMPLES / "leadline.service").read_text(), re.MULTILINE)
    found = [
        found for text in texts for found in re.findall(r"(?:^|[ /`])leadline (serve\b[^\n]*)", text, re.MULTILINE)
    ]
    assert len(found) >= 8
    for words in found:
        parse(shlex.split(words))


# --- behind nginx ----------------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@contextmanager
def nginx(folder: Path, leadline: str) -> Iterator[tuple[str, ssl.SSLContext]]:
    """Run nginx with the example's configuration in front of a server; yield its address and who certified it."""
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST, "127.0.0.1")
    certificate.private_key_and_cert_chain_pem.write_to_path(folder / "pair.pem")
    plain, secure = free_port(), free_port()
    text = (EXAMPLES / "nginx.conf").read_text(encoding="utf-8")
    for old, new in {
        "listen 80;": f"listen 127.0.0.1:{plain};",
        "listen 443 ssl;": f"listen 127.0.0.1:{secure} ssl;",
        "/etc/ssl/certs/research.example.pem": f"{folder}/pair.pem",
        "/etc/ssl/private/research.example.key": f"{folder}/pair.pem",
        "http://127.0.0.1:8327": leadline,
    }.items():
        assert old in text
        text = text.replace(old, new)
    (folder / "leadline.conf").write_text(text, encoding="utf-8")
    paths = "\n".join(
        f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root; " if os.geteuid() == 0 else ""
    (folder / "nginx.conf").write_text(
        f"{user}daemon off; pid {folder}/pid; error_log {folder}/error.log;\nevents {{}}\n"
        f"http {{ access_log off; {paths}\ninclude {folder}/leadline.conf; }}\n",
        encoding="utf-8",
    )
    process = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")])
    context = ssl.create_default_context()
    authority.configure_trust(context)
    try:
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", secure), timeout=PATIENCE).close()
                break
            except ConnectionRefusedError:
                assert process.poll() is None, (folder / "error.log").read_text()
                time.sleep(0.02)
        yield f"https://127.0.0.1:{secure}", context
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nginx"), reason="needs nginx: apt-get install nginx-light")
def test_leadline_works_behind_the_nginx_of_the_example(tmp_path: Path) -> None:
    (tmp_path / "nginx").mkdir()
    with (
        running(tmp_path, "alice", names=[HOST]) as server,
        nginx(tmp_path / "nginx", server.url) as (url, context),
        httpx.Client(base_url=url, verify=context, timeout=PATIENCE, trust_env=False) as http,
    ):
        secure = f"{HOST}:{httpx.URL(url).port}"
        http.headers.update({"Host": secure, "Authorization": f"Bearer {server.tokens['alice']}"})
        # Events arrive while the run is held: nothing collects them.
        with server.gate.closed():
            run = http.post("/v1/runs", json={"question": QUESTION}).json()["id"]
            with http.stream("GET", f"/v1/runs/{run}/events") as events:
                assert any("event: call.started" in line for line in events.iter_lines())
        finish(http, run)
        # A document of the size that the page promises comes through, and the server refuses a longer one itself.
        large = http.post("/v1/knowledge", params={"name": "large.txt"}, content=b"A fathom is six feet. " * 350_000)
        assert large.status_code == 200, large.text
        over = http.post("/v1/knowledge", params={"name": "over.txt"}, content=b"x" * 50_000_001)
        assert (over.status_code, over.json()["code"]) == (413, "too_large")
        # Links begin with the address of the proxy, and a chat's stream is not collected either.
        body = {"model": "leadline-research", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
        with server.gate.closed(), http.stream("POST", "/v1/chat/completions", json=body) as reply:
            first = next(line for line in reply.iter_lines() if line)
        assert f'"url": "https://{secure}/runs/' in first
        # A browser of this site may log in, and its cookie is for TLS only; other names and sites are refused.
        del http.headers["Authorization"]
        login = {"token": server.tokens["alice"]}
        done = http.post("/v1/session", json=login, headers={"Origin": f"https://{secure}"})
        assert done.status_code == 200
        assert "secure" in done.headers["set-cookie"].lower()
        foreign = http.post("/v1/session", json=login, headers={"Origin": "https://evil.example"})
        assert foreign.status_code == 403
        assert http.get("/v1/models", headers={"Host": "evil.example"}).status_code == 421
        assert http.get("/v1/runs").status_code == 200  # by the cookie


# --- with systemd and in a container ---------------------------------------------------------------------------------


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd-analyze")
def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    unit = (
        (EXAMPLES / "leadline.service").read_text(encoding="utf-8").replace("/opt/leadline/bin/leadline", "/bin/true")
    )
    (tmp_path / "leadline.service").write_text(unit, encoding="utf-8")
    command = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "leadline.service")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_container_and_the_service_install_what_the_page_offers() -> None:
    text = (EXAMPLES / "Containerfile").read_text(encoding="utf-8")
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    [installed] = re.findall(r"/src\[(.*?)\]", text)
    assert {"serve", "pdf", "docx", "mcp", "charts", "images"} <= {*installed.split(",")} <= {*extras}
    assert f"/opt/leadline/bin/pip install '.[{installed}]'" in SERVE.read_text(encoding="utf-8")
    [arguments] = re.findall(r"^CMD (.*)$", text, re.MULTILINE)
    parse(re.findall(r'"(.*?)"', arguments))
    composed = yaml.safe_load((EXAMPLES / "compose.yaml").read_text(encoding="utf-8"))["services"]["leadline"]
    parse(composed["command"])
    assert (EXAMPLES / composed["build"]["context"] / composed["build"]["dockerfile"]).resolve().is_file()


def docker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.skipif(not shutil.which("docker"), reason="needs docker: apt-get install docker.io")
def test_the_image_is_built_from_the_source_distribution_and_answers(tmp_path: Path) -> None:
    [base] = re.findall(r"^ARG BASE=(.*)$", (EXAMPLES / "Containerfile").read_text("utf-8"), re.MULTILINE)
    if docker("image", "inspect", base).returncode and (pulled := docker("pull", base)).returncode:
        pytest.skip(f"needs an engine (DOCKER_HOST) and the image {base}: {pulled.stderr}")
    build = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    [archive] = tmp_path.glob("*.tar.gz")
    shutil.unpack_archive(archive, tmp_path, filter="data")
    tree = tmp_path / archive.name.removesuffix(".tar.gz")
    image, docs = f"leadline-test:{os.getpid()}", tmp_path / "docs"
    docs.mkdir()
    (docs / "lengths.txt").write_text("A fathom is six feet.")
    docs.chmod(0o755)
    tmp_path.chmod(0o755)
    start = ("run", "--rm", "--network=host", f"--volume={docs}:/docs:ro", image)
    try:
        built = docker(
            "build", "--network=host", f"--file={tree}/examples/serve/Containerfile", f"--tag={image}", str(tree)
        )
        assert built.returncode == 0, built.stdout + built.stderr
        assert docker(*start, "version").stdout == f"leadline {tree.name.removeprefix('leadline-')}\n"
        with subprocess.Popen(
            ["docker", *start, "serve", "--port", str(port := free_port()), "--docs", "/docs"]
        ) as server:
            try:
                with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=PATIENCE) as http:
                    deadline = time.monotonic() + PATIENCE
                    while not _is_ready(http) and time.monotonic() < deadline:
                        time.sleep(0.2)
                    run = http.post("/v1/runs", json={"question": _ASKED}).json()["id"]
                    assert finish(http, run)["status"] == "complete"
            finally:
                server.terminate()  # docker passes the signal on
    finally:
        docker("rmi", "--force", image)


def _is_ready(http: httpx.Client) -> bool:
    with suppress(httpx.TransportError):
        return http.get("/readyz").status_code == 200
    return False


def test_the_guide_makes_a_token_before_the_service_starts() -> None:
    [block] = [text for text in blocks(SERVE, "text") if "systemctl" in text]
    steps = [
        block.index(word) for word in ("useradd", "venv", "pip install", "--directory", "token add", "enable --now")
    ]
    assert steps == sorted(steps)
