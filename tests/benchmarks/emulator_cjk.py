"""What the emulator's model says in Chinese and Japanese: as `emulator_long`, by characters in place of words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

Statement = tuple[str, str]
_CJK = r"\u3040-\u30ff\u4e00-\u9fff"
_SENTENCE = re.compile(r"[^。！？\n|$#<>`]{14,160}[。！？]")
_CITED = re.compile(r"(?:^|(?<=。))\s*([^\[\]\n。#*]{14,220}?) ?(?:\[\d+\])*\[(\d+)\](?=。)", re.MULTILINE)
_RUN = re.compile(rf"[{_CJK}]+|[A-Za-z0-9]+")


class Tongue(NamedTuple):
    """The words of a language that are no passage's."""

    leads: tuple[str, ...]
    joins: tuple[str, ...]
    same: Mapping[str, tuple[str, ...]]
    goal: str
    questions: tuple[str, ...]
    gap: str
    further: str
    numbers: str
    keywords: tuple[str, ...]


TONGUES: Mapping[str, Tongue] = {
    "zh": Tongue(
        ("在实践中，", "与此同时，", "进一步看，", "对管理员而言，", "就日常工作而言，", ""),
        ("同时", "正如", "另一方面", "与之相关的是"),
        {
            "可以": ("能够", "可"),
            "使用": ("采用", "运用"),
            "需要": ("必须", "有必要"),
            "如果": ("若", "假如"),
            "但是": ("不过", "然而"),
            "因为": ("由于", "鉴于"),
            "因此": ("所以", "故而"),
            "例如": ("比如", "譬如"),
            "通常": ("一般", "往往"),
            "提供": ("给出", "供应"),
            "包含": ("含有", "包括"),
            "用户": ("使用者", "账户持有人"),
            "命令": ("指令", "程序调用"),
            "文件": ("档案", "文档"),
            "配置": ("设置", "设定"),
            "安装": ("装上", "部署"),
            "系统": ("操作系统", "系统环境"),
            "默认": ("预设", "缺省"),
            "许多": ("不少", "大量"),
            "版本": ("发行版次", "版次"),
        },
        "说明资料对{topic}的论述。",
        ("{topic}如何运作？", "{topic}有哪些工具和规则？", "{topic}在日常工作中应注意什么？"),
        "最新的资料对{topic}有何说明？",
        "{title}：其他要点",
        "{names}等的数值",
        ("Debian", "系统管理", "软件包", "安全", "服务"),
    ),
    "ja": Tongue(
        ("実際には、", "同時に、", "詳しく見ると、", "管理者にとって、", "日常の作業では、", ""),
        ("同時に", "一方で", "また", "これと関連して"),
        {
            "使用": ("利用", "活用"),
            "必要": ("不可欠", "要件"),
            "しかし": ("ただし", "けれども"),
            "例えば": ("たとえば", "一例として"),
            "通常": ("普通", "一般に"),
            "提供": ("供給", "用意"),
            "設定": ("構成", "指定"),
            "ユーザー": ("利用者", "使用者"),
            "コマンド": ("命令", "指令"),
            "ファイル": ("文書", "電子文書"),
            "システム": ("体系", "計算機環境"),
            "インストール": ("導入", "組み込み"),
            "多く": ("多数", "数多く"),
        },
        "資料が{topic}について述べることを示す。",
        (
            "{topic}はどのように機能するか？",
            "{topic}にはどの道具と規則があるか？",
            "{topic}の実際の作業で何に注意すべきか？",
        ),
        "最新の資料は{topic}について何を述べるか？",
        "{title}：その他の要点",
        "{names}などの数値",
        ("Debian", "システム管理", "パッケージ", "安全", "サービス"),
    ),
}


def tongue(text: str) -> Tongue | None:
    """Return the language of a text; None for one of words."""
    if len(re.findall(rf"[{_CJK}]", text)) * 3 < len(text):
        return None
    return TONGUES["ja" if re.search(r"[\u3040-\u30ff]", text) else "zh"]


def sentences(passage: str) -> list[str]:
    """Return the whole sentences of a passage."""
    return [re.sub(r"^(?:[-*•]|\d+[.)、])\s*", "", one.strip()) for one in _SENTENCE.findall(passage)]


def cited(text: str) -> list[Statement]:
    """Return the statements of sections and the numbers of their passages."""
    return _CITED.findall(text)


def grams(text: str) -> set[str]:
    """Return the pairs of characters, and the Latin words, of a text."""
    runs = _RUN.findall(text)
    return {run[at : at + 2] for run in runs for at in range(max(1, len(run) - 1))}


def reworded(sentence: str, variant: int, said: Tongue) -> str:
    """Return a sentence in other words, without its full stop."""
    text = sentence.strip().rstrip("。！？")
    parts = re.split("[，、]", text, maxsplit=1)
    if len(parts) == 2 and variant % 2 and min(map(len, parts)) > 6:
        text = f"{parts[1]}；{parts[0]}"
    for place, (word, others) in enumerate(said.same.items()):
        text = text.replace(word, others[(variant + place) % len(others)])
    return text


def _usable(found: Sequence[Statement]) -> Iterator[Statement]:
    seen: set[str] = set()
    for sentence, number in found:
        share = len(re.findall(rf"[{_CJK}]", sentence)) / len(sentence)
        if sentence not in seen and share > 0.6 and sentence.count("（") == sentence.count("）"):
            seen.add(sentence)
            yield sentence, number


def section(found: Sequence[Statement], length: int, title: str, said: Tongue) -> str:
    """Return paragraphs of at most so many characters; each statement once."""
    variant, written = crc32(title.encode()) % 7, 0
    about = grams(title)
    # What belongs to the title first, the others in an order of each section's own.
    found = sorted(_usable(found), key=lambda one: (-len(grams(one[0]) & about), crc32(f"{title}{one[0]}".encode())))
    paragraphs: list[str] = []
    lines: list[str] = []
    for count, (sentence, number) in enumerate(found):
        if written >= length:
            break
        text = said.leads[(variant + count) % len(said.leads)] + reworded(sentence, variant + count, said)
        lines.append(f"{text} [{number}]。")
        written += len(text)
        if len(lines) == 4:
            paragraphs.append("".join(lines))
            lines = []
            if written > length / 2 and not any(one.startswith("#") for one in paragraphs):
                paragraphs.append(f"### {said.further.format(title=title)}")
    if lines:
        paragraphs.append("".join(lines))
    elif paragraphs and paragraphs[-1].startswith("#"):
        paragraphs.pop()
    return "\n\n".join(paragraphs)


def parts(found: Sequence[Statement], said: Tongue) -> dict[str, Any]:
    """Return the parts around the sections: each of their statements joins what three sections say."""
    third = len(found) // 3
    groups = list(zip(found[:third], found[third:], found[2 * third :], strict=False))

    def joined(group: Sequence[Statement], variant: int) -> str:
        one, two, three = (re.split("[，、；]", text)[-1][:24] for text, _ in group)
        numbers = "".join(f"[{number}]" for _, number in group)
        return f"{one}，{said.joins[variant % len(said.joins)]}{two}，{three} {numbers}。"

    def prose(chosen: Sequence[Sequence[Statement]], size: int) -> str:
        lines = [joined(group, at) for at, group in enumerate(chosen)]
        return "\n\n".join("".join(lines[at : at + size]) for at in range(0, len(lines), size))

    return {
        "summary": prose(groups[0::4][:12], 3),
        "keywords": list(said.keywords),
        "introduction": prose(groups[1::4][:12], 3),
        "insights": "\n".join(f"- {line}" for line in prose(groups[2::4][:7], 1).split("\n\n")),
        "analysis": prose(groups[2::4][7:], 3),
        "conclusion": prose(groups[3::4][:12], 4),
    }


def topics(question: str) -> list[str]:
    """Return what a question lists after its colon."""
    return [one.strip() for one in question.partition("：")[2].rstrip("？").split("、") if one.strip()]
