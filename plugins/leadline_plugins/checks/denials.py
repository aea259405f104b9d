"""What has a negator in it and denies nothing, or less: words made with one, bounds of numbers, and gaps of sources.

未来 is the future and 无人机 a drone; 不到四成 sets a bound. 不平等 is a word of its own, and a text need not deny
anything to agree with it: such counts only against one that says the very opposite. So does `not given`, which speaks
of what a source lacks and not of the world.
"""

from __future__ import annotations

import re

_NONE = (
    "不(?:动产|動產|良|锈|鏽|倒翁|二|管|妨|料|愧|惜|停|日|懈|外乎|乏|一而足|[禁免]|由得?|失[为為]|啻|[难難](?!以)|[无無]"
    "|容(?:忽[视視]|小[觑覷]|置疑|[质質]疑|低估|否[认認])|可(?:否[认認]|避免)|言而喻|[遗遺]余力|[约約]而同|[谋謀]而合"
    "|[胜勝]枚[举舉]|[亚亞逊遜][于於]|[计計]其[数數])"
    "|未(?:来|來|婚|成年|免|雨|亡|卜先知)"
    "|[无無](?:人[机機驾駕船艇车車店售潜潛配值]|线|線|锡|錫|疑|偿|償|形资|形資|缝|縫|菌|机[物盐肥]|機[物鹽肥]|轨|軌|障碍|障礙"
    "|产阶|產階|花果|烟煤|煙煤|非|不|[数數限穷窮比]|[处處所]不|[时時][无無]刻|[独獨]有偶|[缘緣])"
    "|非(?:洲|凡|遗|遺|典|同小可|同[寻尋])|[没沒](?:收|落|药|藥)"
)
_BOUNDS = (
    "(?:不(?:到|足|及|下|逾|超|超过|超過|[少低高多大小][于於])|未(?:到|达|達|达到|達到|满|滿|及|逾|超|超过|超過))"
    r"(?=[约約了]?\s?[$€£¥]?[\d零一二两兩三四五六七八九十百千万萬亿億半])"
)
"""What sets the number behind it a bound."""
NO_DENIAL = f"(?:{_NONE}|{_BOUNDS})"
"""What begins as a negation of Chinese does and is none, as a pattern."""
_HAN_HOW = "(?:具体|具體|明确|明確|直接|详细|詳細|进一步|進一步|另行|单独|單獨|逐一|[对對为為]此|相[关關]的?|任何){0,2}"
"""How a text of Chinese does not say something: 未具体说明."""
_HAN_TOLD = (
    "(?:[给給]出|披露|公布|公开|公開|提供|说明|說明|提及|提到|注明|列出|列明|记载|記載|指出|交代|解释|解釋|量化|透露|报告|報告"
    "|数据|數據|数字|數字|资料|資料|信息|资讯|資訊|记录|記錄)"
)
_MADE = re.compile(
    "不(?:平等|平衡|均衡?|确定|確定|稳定?|穩定?|安|满|滿|足|对称|對稱|透明|健全|完善|景气|景氣|一致|便|得而知|清楚"
    "|容?[乐樂][观觀]|利|佳|力|[畅暢]|理想|合[理格法]|公[平正]?|[现現][实實]|普遍|明[显顯]|可(?:持[续續]|行|取)|成熟|充[分足]|到位"
    "|可或缺|可忽[视視]|可逆|可抗力|规则|規則|明朗|振|齐|齊|当|當)"
    "|非(?:税|稅|农|農|金融|银行?|銀行?|标准?|標準?|法|营利|營利|经常|經常|流动|流動|住宅|制造|製造|公有|国有|國有)"
    "|未(?:知|详|詳|明)|[无無]可用"
    f"|(?:未有?|[没沒]有?|[无無]){_HAN_HOW}(?P<told>{_HAN_TOLD})"
)
_NEGATORS = "不未非无無没沒有"
_TOLD = (
    "given|stated|reported|available|disclosed|specified|provided|published|applicable|mentioned|listed|recorded"
    "|disponibles?|communiqué|précisé"
)
"""What a source has done with something, or not."""
_MORE = (
    "said|told|named|claimed|known|explained|quantified|indicated|detailed|described|clear"
    "|angegeben|genannt|erwähnt|beziffert|bekannt"
)
"""The same, where the noun does not follow: no known cure denies the cure."""
_GAP = re.compile(
    r"\s+(?:(?:an?|any|yet|been|publicly|further|verfügbare|genauen?)\s+){0,2}"
    rf"(?P<lacking>(?:{_TOLD}|data|figures?|numbers?|values?|details?|information|date|angaben?|daten|zahlen|datos|dados)\b)",
    re.IGNORECASE,
)
"""What is lacking, right behind its negator: not given, no figure."""
_UNTOLD = re.compile(
    r"\s+(?P<lacking>(?:[^\s,.;:!?]+\s+){1,8}?(?:(?:is|are|was|were|been|be)\s+(?:(?!not\b)\w+\s+)?"
    rf"(?:{_TOLD}|{_MORE})|angegeben|genannt|erwähnt|beziffert)\b)",
    re.IGNORECASE,
)
"""The same with what it is that is lacking between the two: no share of the lonely is given."""
_REST = r"(?:\s+[^\s,.;:!?]+){0,4}"
_NOBODY = re.compile(
    r"\s+(?:(?!that\b)[\w-]+\s+){0,4}?(?P<lacking>(?:says?|said|tells?|gives?|gave|states|mentions?|names|specif(?:y|ies)"
    rf"|quantif(?:y|ies)|explains?|describes?|compares?)\b{_REST})",
    re.IGNORECASE,
)
"""Who says nothing of it: nobody says how much, none of the sources gives one."""
_NOT_TELLING = re.compile(
    r"\s+(?:(?:to|directly|itself|themselves|yet|even|further)\s+){0,2}(?P<lacking>(?:say|tell|give|state|mention|name"
    rf"|report|specify|quantify|explain|describe|list|disclose|indicate|detail)(?:ing)?\b{_REST}"
    rf"|(?:been\s+)?(?:{_MORE})\b|(?:[\w-]+\s+){{0,3}}?(?:giving|stating|naming|quantifying|specifying|describing|disclosing|indicating)\b{_REST})",
    re.IGNORECASE,
)
"""What a source does not do: does not give a share, without naming one; or what is not done, as not said."""
_TELLS = re.compile(
    r"\b(?:gives?|gave|giving|states?|names?|naming|reports?|reported|offers?|provides?|provided|lists?|mentions?|says?|said"
    r"|tells?|contains?|nennt|nennen|gibt|geben|enthält)\s+$",
    re.IGNORECASE,
)
"""The same before its negator: gives no share."""
_TELLS_WITHIN = 12
_BEHIND = re.compile(_REST)
_NONE_OF = re.compile("(?:no|none|nobody|nothing|neither|keine?[nmrs]?|geen)", re.IGNORECASE)
"""Negators of what there is, and not of what is done."""


def made(text: str, at: int) -> str:
    """Return the word of which a Chinese negator has made another that begins here: of 不平等 平等; else nothing."""
    found = _MADE.match(text, at)
    return (found["told"] or found[0].lstrip(_NEGATORS)) if found else ""


def gap(text: str, start: int, end: int) -> str:
    """Return what a negator that stands here says to be lacking in a source; empty where it denies something.

    That is in words what the source is said not to tell: `share of the lonely is given`.
    """
    found = _GAP.match(text, end)
    if not _NONE_OF.fullmatch(text, start, end):
        found = found or _NOT_TELLING.match(text, end)
    elif told := _TELLS.search(text, max(0, start - _TELLS_WITHIN), start):
        behind = _BEHIND.match(text, end)
        return told[0] + (behind[0] if behind else "")
    else:
        found = _UNTOLD.match(text, end) or found or _NOBODY.match(text, end)
    return found["lacking"] if found else ""
