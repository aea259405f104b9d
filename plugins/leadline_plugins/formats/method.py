"""The methodology section, rendered from the facts of the run in the language of the report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leadline.records import Report

HEADINGS = {"en": "Method", "zh": "研究方法", "ja": "調査方法"}
_WORDS: dict[str, dict[str, str]] = {
    "en": {
        "scope": "{rounds} round(s) of search with {queries} queries on {engines} gave {hits} results, "
        "of which {sources} sources were read.",
        "failed": "{count} search(es) failed: {what}.",
        "engine": "{engine} gave nothing in {count} of {queries} searches: {what}.",
        "unread": "{count} source(s) could not be read: {what}.",
        "assumed": "Assumed: {what}.",
        "nowhere": "no engine",
    },
    "zh": {
        "scope": "共进行 {rounds} 轮检索，{queries} 个查询（{engines}），得到 {hits} 条结果，阅读了 {sources} 个来源。",
        "failed": "{count} 次检索失败：{what}。",
        "engine": "{engine} 在 {queries} 次检索中有 {count} 次没有给出结果：{what}。",
        "unread": "{count} 个来源无法读取：{what}。",
        "assumed": "假设：{what}。",
        "nowhere": "无引擎",
    },
    "ja": {
        "scope": "{rounds} 回の検索で {queries} 件のクエリ（{engines}）から {hits} 件の結果を得て、"
        "{sources} 件の資料を読んだ。",
        "failed": "{count} 件の検索が失敗した：{what}。",
        "engine": "{engine} は {queries} 回の検索のうち {count} 回、結果を返さなかった：{what}。",
        "unread": "{count} 件の資料を読めなかった：{what}。",
        "assumed": "仮定：{what}。",
        "nowhere": "検索エンジンなし",
    },
}
NAMED = 5
"""Failures named one by one; the rest are counted."""


def heading(language: str) -> str:
    """Return the heading in the report's language, English where it is not known."""
    return HEADINGS.get(language[:2], HEADINGS["en"])


def sentences(report: Report) -> Iterator[str]:
    """Yield the sentences of the methodology; none where the report carries no facts of its run."""
    facts: Any = report.metadata.get("method")
    if not facts:
        return
    words = _WORDS.get(report.language[:2], _WORDS["en"])
    yield words["scope"].format(
        rounds=facts["rounds"],
        queries=len(facts["queries"]),
        engines=", ".join(facts["engines"]) or words["nowhere"],
        hits=facts["hits"],
        sources=facts["sources_read"],
    )
    for kind, named in (("failed_searches", "query"), ("unread", "url")):
        items = facts[kind]
        if items:
            what = "; ".join(f"{item[named]} ({item['reason']})" for item in items[:NAMED])
            word = "failed" if kind == "failed_searches" else "unread"
            yield words[word].format(count=len(items), what=what + (" …" if len(items) > NAMED else ""))
    for item in facts.get("failed_engines", ()):
        yield words["engine"].format(
            engine=item["engine"], count=item["searches"], queries=len(facts["queries"]), what=item["reason"]
        )
    for notice in facts.get("notices", ()):
        yield f"{notice[:1].upper()}{notice[1:]}."
    if facts["assumptions"]:
        yield words["assumed"].format(what="; ".join(facts["assumptions"]))
