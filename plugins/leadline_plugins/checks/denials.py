"""What has a negator in it and denies nothing, or less: words made with one, bounds of numbers, and gaps of sources.

未来 is the future and 无人机 a drone; 不到四成 sets a bound. 不平等 is a word of its own, and a text need not deny
anything to agree with it: such counts only against one that says the very opposite. So does `not given`, which speaks
of what a source lacks and not of the world.
"""

from __future__ import annotations

import re

_NONE = (
    "不(?:动产|動產|良|锈|鏽|倒翁|二|管|妨|料|愧|惜|停|日|懈|外乎|乏|一而足)"
    "|未(?:来|來|婚|成年|免|雨|亡|卜先知)"
    "|[无無](?:人[机機驾駕船艇车車店售潜潛配值]|线|線|锡|錫|疑|偿|償|形资|形資|缝|縫|菌|机[物盐肥]|機[物鹽肥]|轨|軌|障碍|障礙"
    "|产阶|產階|花果|烟煤|煙煤|非|不)"
    "|非(?:洲|凡|遗|遺|典)|[没沒](?:收|落|药|藥)"
)
_BOUNDS = (
    "(?:不(?:到|足|及|下|逾|超|超过|超過|[少低高多大小][于於])|未(?:到|达|達|达到|達到|满|滿|及|逾|超|超过|超過))"
    r"(?=[约約了]?\s?[$€£¥]?[\d零一二两兩三四五六七八九十百千万萬亿億半])"
)
"""What sets the number behind it a bound."""
NO_DENIAL = f"(?:{_NONE}|{_BOUNDS})"
"""What begins as a negation of Chinese does and is none, as a pattern."""
_MADE = re.compile(
    "不(?:平等|平衡|均衡?|确定|確定|稳定?|穩定?|安|满|滿|足|对称|對稱|透明|健全|完善|景气|景氣|一致|便"
    "|可或缺|可忽[视視]|可逆|可抗力|规则|規則|明朗|振|齐|齊|当|當)"
    "|非(?:税|稅|农|農|金融|银行?|銀行?|标准?|標準?|法|营利|營利|经常|經常|流动|流動|住宅|制造|製造|公有|国有|國有)"
    "|未(?:[给給]出|披露|公布|公开|公開|提供|说明|說明|提及|提到|注明|列出|记载|記載|知|详|詳|明)"
    "|[无無](?:数据|數據|资料|資料|信息|资讯|資訊|记录|記錄|可用)"
    "|[没沒]有?(?:[给給]出|数据|數據|数字|數字|提供|说明|說明|提及|提到|披露|公布|资料|資料)"
)
_NEGATORS = "不未非无無没沒有"
_GAP = re.compile(
    r"\s+(?:(?:an?|any|yet|been|publicly|further|verfügbare|genauen?)\s+){0,2}"
    r"(?:given|stated|reported|available|disclosed|specified|provided|published|applicable|mentioned|listed|recorded"
    r"|data|figures?|numbers?|values?|details?|information|date|angaben?|daten|zahlen|disponibles?|datos|dados"
    r"|communiqué|précisé)\b",
    re.IGNORECASE,
)


def made(text: str, at: int) -> str:
    """Return the word of which a Chinese negator has made another that begins here: of 不平等 平等; else nothing."""
    found = _MADE.match(text, at)
    return found[0].lstrip(_NEGATORS) if found else ""


def gap(text: str, end: int) -> str:
    """Return of what a negator that ends here says that it is lacking in a source; empty where it denies something."""
    found = _GAP.match(text, end)
    return found[0] if found else ""
