"""The words a format adds by itself, in the language of the report; English where that is not known."""

from __future__ import annotations

LABELS: dict[str, dict[str, str]] = {
    "en": {
        "figure": "Figure",
        "credit": "Picture",
        "contents": "Contents",
        "generated": "Research report",
        "table": "Table",
        "skip": "Skip to the report",
        "evidence": "Evidence",
        "close": "Close",
        "checks": "Checks",
        "checked": "{total} cited claims checked: {supported} supported by the passage, "
        "{partial} in part or not judged, {contradicted} contradicted, {unsupported} unsupported.",
        "supported": "supported",
        "partial": "supported in part, or not judged",
        "contradicted": "contradicted",
        "unsupported": "unsupported",
        "unset": "Characters that no font at hand can show stand as their number, like [U+1F600]; install a font that "
        "has them (Debian: fonts-noto) and render again.",
    },
    "zh": {
        "figure": "图",
        "credit": "图片来源",
        "contents": "目录",
        "generated": "研究报告",
        "table": "表",
        "skip": "跳到正文",
        "evidence": "依据",
        "close": "关闭",
        "checks": "引用核查",
        "checked": "{total} 条引用论断中，{supported} 条有原文支持，{partial} 条部分支持；"
        "{contradicted} 条与原文矛盾，{unsupported} 条无支持。",
        "supported": "有支持",
        "partial": "部分支持或未判定",
        "contradicted": "与原文矛盾",
        "unsupported": "无支持",
        "unset": "现有字体无法显示的字符以编号代替，如 [U+1F600]；"
        "安装含有这些字符的字体（Debian：fonts-noto）后重新生成。",
    },
    "ja": {
        "figure": "図",
        "credit": "画像",
        "contents": "目次",
        "generated": "調査報告",
        "table": "表",
        "skip": "本文へ",
        "evidence": "根拠",
        "close": "閉じる",
        "checks": "引用の検証",
        "checked": "引用された主張 {total} 件のうち、{supported} 件が原文に支持され、{partial} 件が部分的に支持、"
        "{contradicted} 件が矛盾、{unsupported} 件が支持なし。",
        "supported": "支持あり",
        "partial": "部分的に支持、または未判定",
        "contradicted": "原文と矛盾",
        "unsupported": "支持なし",
        "unset": "手元のフォントで表示できない文字は [U+1F600] のように番号で示した。"
        "その文字を持つフォント（Debian では fonts-noto）を入れて作り直すと表示される。",
    },
}


def label(name: str, language: str) -> str:
    """Return a word or sentence of ours."""
    return LABELS.get(language[:2], LABELS["en"])[name]
