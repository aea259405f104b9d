"""More connections than the server may have open files."""

from __future__ import annotations

import contextlib
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.server.conftest import PATIENCE


@pytest.mark.slow
def test_connections_do_not_take_the_files_that_the_server_needs(tmp_path: Path) -> None:
    """With 300 open files at most, 260 connections are too many: new requests are refused, and later served."""
    few = 300
    process = subprocess.Popen(
        [sys.executable, "-m", "leadline", "serve", "--port", "0", "--folder", str(tmp_path / "runs")],
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)),
    )
    try:
        assert process.stderr
        url = re.search(r"http://[\d.:]+", process.stderr.readline())
        assert url
        host, port = urlsplit(url[0]).netloc.split(":")
        with httpx.Client(base_url=url[0], timeout=PATIENCE, trust_env=False) as http:
            with contextlib.ExitStack() as stack:
                for _ in range(260):
                    stack.enter_context(socket.create_connection((host, int(port)), timeout=PATIENCE))
                assert http.get("/v1/runs", headers={"Connection": "close"}).status_code == 503
            deadline = time.monotonic() + PATIENCE
            while (code := http.get("/v1/runs").status_code) == 503 and time.monotonic() < deadline:
                time.sleep(0.2)
            assert code == 200
    finally:
        process.terminate()
        process.communicate()
