"""A full-length report of the pipeline `longform`, from real pages and with text of the emulator.

    python bench_longform.py [FOLDER] [--form academic] [--language zh]

The pages are those of Debian's packages `debian-handbook` and `debian-reference-en` (`-zh-cn`, `-ja`), served on this
machine; the engine ranks them by words. The emulator's model plans a section for each topic and words each statement
anew. Prints words (characters), parts, sections, figures, calls, seconds, verdicts, and how much is said twice:
statements that share a run of words with an earlier one, and the share of runs of eight words (twelve characters) that
occur again.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import html
import json
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from emulator_use import Emulator, client, emulator

import leadline
from leadline.contracts import Call
from leadline.plugin import search_provider
from leadline.records import Evidence, Hit, SearchPage, SearchRequest, Section
from leadline.testing.plugins import plugin
from leadline_plugins.passages.ranking import KeyQuestion, by_words
from leadline_plugins.text.tokens import fold
from leadline_plugins.verification.repetition import repetitions

ROOT = Path("/usr/share")
PAGES = {
    "en": ("doc/debian-handbook/html/en-US/*.html", "debian-reference/*.en.html"),
    "zh": ("doc/debian-handbook/html/zh-CN/*.html", "debian-reference/*.zh-cn.html"),
    "ja": ("doc/debian-handbook/html/ja-JP/*.html", "debian-reference/*.ja.html"),
}
TOPICS = (
    "package management with APT",
    "installation of the system",
    "software packaging and releases",
    "user accounts and permissions",
    "network configuration",
    "file systems and storage",
    "backup and recovery",
    "security and firewalls",
    "services and virtualization",
    "kernel and boot process",
    "mail and web servers",
)
ASKED = {
    "en": f"How is a Debian system administered: {', '.join(TOPICS)}?",
    "zh": "怎样管理一个 Debian 系统：用 APT 管理软件包、系统的安装、软件打包与发行、用户账户与权限、网络配置、"
    "文件系统与存储、备份与恢复、安全与防火墙、服务与虚拟化、内核与启动过程、邮件与网页服务器？",
    "ja": "Debian システムはどのように管理されるか：APT によるパッケージ管理、システムのインストール、"
    "パッケージの作成とリリース、ユーザーアカウントと権限、ネットワークの設定、ファイルシステムとストレージ、"
    "バックアップと復旧、セキュリティとファイアウォール、サービスと仮想化、カーネルと起動、メールとウェブサーバー？",
}
RUN, CJK_RUN = 8, 12
_UNIT = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]|[^\W\u3040-\u30ff\u4e00-\u9fff]+")
_TITLE = re.compile(r"(?s)<title>(.*?)</title>")
_TAG = re.compile(r"(?s)<(?:script|style|head).*?</(?:script|style|head)>|<[^>]+>")


class Pages:
    """A search engine over the pages by the words that they have."""

    def __init__(self, port: int, language: str) -> None:
        paths = [path for glob in PAGES[language] for path in sorted(ROOT.glob(glob))]
        self._urls = [f"http://127.0.0.1:{port}/{path.relative_to(ROOT)}" for path in paths]
        pages = [path.read_text("utf-8", "replace") for path in paths]
        self._titles = [html.unescape(found[1]) if (found := _TITLE.search(page)) else "" for page in pages]
        texts = [_TAG.sub(" ", page) for page in pages]
        self._pages = [
            Evidence(id=str(place), source_id=str(place), quote=" ".join(text.split()), span=(0, 1))
            for place, text in enumerate(texts)
        ]

    async def search(self, request: SearchRequest, call: Call, /) -> SearchPage:
        scores = by_words(self._pages, {}, [KeyQuestion(request.query)])[0]
        best = sorted(scores, key=lambda place: -scores[place])[: request.limit]
        hits = (Hit(url=self._urls[place], title=self._titles[place]) for place in best)
        return SearchPage(hits=tuple(hits))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: Any) -> None:
        pass


@contextmanager
def pages() -> Iterator[int]:
    """Serve the pages; yields the port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(ROOT)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()


def settings(port: int, world: Emulator, form: str) -> dict[str, Any]:
    """Return the settings: the pipeline, the pages and the model."""
    return {
        "pipeline": "longform",
        "report.form": form,
        "report.formats": ["markdown", "html", "pdf", "docx", "json"],
        "search.engines": ["debian"],
        "plugins.web.allow": ["127.0.0.0/8"],
        "plugins.web.ports": [port, world.port],
    }


async def main(folder: Path, form: str, language: str) -> dict[str, Any]:
    """Return the figures of one report."""
    with emulator() as world, pages() as port:
        engine = plugin("debian", search_provider("Debian's manuals")(lambda: Pages(port, language)))
        async with client(world, folder, settings(port, world, form), [engine]) as runs:
            began = time.perf_counter()
            result = await runs.research(ASKED[language])
            seconds = time.perf_counter() - began
    assert result.report, result.reason
    return {"status": result.status, "reason": result.reason, "seconds": round(seconds, 1)} | figures(result)


def length(text: str, code: str) -> int:
    """Return the characters of a Chinese or Japanese text, the words of another."""
    return len("".join(text.split()) if code[:2] in ("zh", "ja") else text.split())


def figures(result: leadline.Result) -> dict[str, Any]:
    """Return what a report has, and what it says twice."""
    report, data = result.report, result.metadata
    assert report
    text = "\n\n".join(section.text or "" for section in report.sections)
    shared = repetitions(report.sections)
    files = [*sorted(result.folder.glob("report.*")), *sorted(result.folder.glob("images/*"))]
    kept = json.loads((result.folder / "repetition.json").read_text())
    return {
        "folder": str(result.folder),
        "model calls": data.calls.get("chat/openai"),
        "tokens": data.usage.get("tokens"),
        "searches": len(json.loads((result.folder / "search_results.json").read_text())),
        "pages read": len(report.sources),
        "length": length(re.sub(r"\[@[^\]]*\]|!\[\]\([^)]*\)", "", text), report.language),
        "parts": [section.title for section in report.sections if not section.part],
        "main findings": {one.title: length(one.text or "", report.language) for one in report.sections if one.part},
        "figures": Counter("picture" if figure.credit else "chart" for figure in report.figures),
        "claims": data.verification.get("claims"),
        "removed": Counter(row["found_by"] for row in kept["removed"]),
        "statements that repeat another": sum(one.whole for one in shared),
        "statements that share a run of words": len(shared),
        "share of runs that occur again": repeated_runs(
            report.sections, CJK_RUN if report.language[:2] in ("zh", "ja") else RUN
        ),
        "files": {path.name: path.stat().st_size for path in files},
        "notices": data.notices,
    }


def repeated_runs(sections: tuple[Section, ...], size: int) -> float:
    """Return the share of runs of so many words, or characters, that occurred before, in all sections together."""
    words = [_UNIT.findall(fold(re.sub(r"\[@[^\]]*\]", " ", section.text or ""))) for section in sections]
    runs = Counter(tuple(own[at : at + size]) for own in words for at in range(len(own) - size + 1))
    return round(sum(count - 1 for count in runs.values()) / max(1, runs.total()), 4)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--form", default="long", choices=["long", "academic"])
    parser.add_argument("--language", default="en", choices=list(PAGES))
    wanted = parser.parse_args()
    if not all(next(ROOT.glob(glob), None) for glob in PAGES[wanted.language]):
        sys.exit("apt-get install debian-handbook debian-reference-en debian-reference-zh-cn debian-reference-ja")
    with tempfile.TemporaryDirectory() as place:
        print(
            json.dumps(
                asyncio.run(main(wanted.folder or Path(place), wanted.form, wanted.language)),
                indent=1,
                ensure_ascii=False,
            )
        )
