"""What a text says of its sources: that they lack something, and what cannot be told for it; by language."""

from __future__ import annotations

import re

_HERE = r"(?:gathered|cited|given|at\shand|in\shand|here|found|read|provided|available|collected|used|above|quoted)"
_SOURCES = (
    r"(?:(?:the|these|those|any|all|available|present|given|cited|collected|gathered|retrieved|other)\s+)*"
    rf"(?:(?:passages?|sources?|excerpts?)(?:\s+{_HERE})*"
    rf"|(?:evidence|materials?|documents?)(?:\s+{_HERE})+|what\swas\s(?:found|read|gathered))"
)
"""Evidence, material and documents may be of the world, and are the text's own only where it says so."""
_THINGS = (
    r"(?:data|figures?|numbers?|values?|information|details?|evidence|answers?|comparisons?|breakdowns?|estimates?|counts?"
    r"|records?|measure\w*|accounts?|statistics|results?|material|section|passage|word|statement)\b"
)
"""What a source may have, and lack."""
_SAY = (
    "say|tell|state|give|list|name|mention|report|compare|quantify|specify|address|cover|contain|include|provide|show"
    "|measure|rank|forecast|predict|explain|discuss|describe|settle|answer|determine|offer|speak|assess|examine|test"
    "|indicate|reveal|disclose|identify|present|detail|distinguish|allow|go|break|single|draw|put|quote|tie|link|date"
    "|track|weigh|separate|isolate|estimate|evaluate|analy[sz]e|investigate|study|consider|touch|deal|confirm|verify"
    "|resolve|clarify|document|record|publish|elaborate|comment|note|capture|trace|connect|relate|attribute"
    "|differentiate|normali[sz]e|convert|translate|adjust|split|divide|itemi[sz]e|attach|assign|cite|calculate|compute"
    "|count|tally|observe|monitor|survey|tackle|explore|contrast|set|rate|score|judge|argue|claim|assert|suggest|imply"
    "|substantiate|establish|prove|demonstrate|illustrate|define|characteri[sz]e|stipulate|enumerate|conclude|infer"
    "|derive|extrapolate|project|foresee|anticipate|model|simulate|replicate|reproduce|benchmark|validate|corroborate"
    "|inform|extend|lay|spell|stop|look|permit|let|shed|bear|pronounce"
)
_TELL = rf"(?:(?:{_SAY})(?:s|es)?|(?:quantif|specif|clarif|stud|verif|tall|t)ies)\b(?!\s+that\b)"
_TELLS = rf"(?:{_TELL}|(?:has|have|holds?|carry|carries)\s+(?:[\w-]+\s+){{0,3}}?{_THINGS})"
"""What a source may do with a thing. Of sources of power or money most other verbs are said."""
_DOES = (
    r"(?!(?:den(?:y|ies)|disput\w+|doubts?|questions?|contests?|contradicts?|refut\w+|rejects?|hides?|conceals?|ignores?"
    r"|overlooks?|forgets?|regrets?|needs?|is|was|as|its|this|across|besides|plus)\b)[a-z]{2,}s\b(?!\s+that\b)"
)
"""What a passage may do, which is always of a text: any verb that takes nothing for granted."""
_OPEN = (
    r"(?:(?:still|therefore|thus|so|also|largely|hence|an)\s+){0,2}"
    r"(?:open(?:\s+question)?|unclear|unknown|unanswered|undecided|unsettled|unresolved|uncertain|to\s+be\s+seen)"
)
_GIVE = r"(?:give|list|name|contain|include|provide|offer|draw)s?"
_SPEAK = r"(?:say|tell|state)s?"
_TOLD = (
    r"(?:said|told|stated|given|listed|named|mentioned|reported|compared|quantified|specified|addressed|covered|found"
    r"|shown|measured|explained|discussed|described|settled|answered|established|recorded|disclosed|documented)"
)
LACKING = re.compile(
    rf"""(?:however|here|still|yet|and|but)?,?\s*(?:
      (?:none\ of|neither\ of|not\ one\ of|no|neither)\s+{_SOURCES}\s+(?:directly\s+|even\s+|actually\s+)?{_TELLS}
    | (?:none\ of|neither\ of|not\ one\ of|no|neither)\s+(?=(?:\w+\s+){{0,4}}(?:passage|excerpt)){_SOURCES}\s+{_DOES}
    | {_SOURCES}\s+(?:also\s+|themselves\s+)?(?:
        (?:(?:do|does|did|can|could)\s*(?:not|n['’]t)|cannot|hardly|scarcely|barely|nowhere|never)
          \s+(?:directly\s+|itself\s+|themselves\s+|yet\s+)?{_TELLS}
      | {_GIVE}\s+(?:no|none|neither)\b
      | (?:has|have|holds?|puts?|quotes?|makes?)\s+(?:no|neither)\s+(?:[\w-]+\s+){{0,3}}?{_THINGS}
      | {_SPEAK}\s+(?:nothing|little)(?:\s+(?:of|about|on)\b|$)
      | (?:is|are|remain|remains)\s+silent\b | lacks?\b | leaves?\s+(?:\w+\s+){{0,4}}open\b)
    | [^,]{{2,90}}\s(?:is|are|was|were)\s+(?:not|nowhere|never)
      \s+{_TOLD}\s+(?:in|by)\s+(?:either|any|any\ of)?\s*{_SOURCES}
    | [^,]{{2,60}}\s(?:is|are)\s+(?:scarce|rare|missing|absent|lacking)\s+(?:in|from)\s+{_SOURCES}
    | what\s[^,]{{2,90}}\s(?:no|none\ of\ the|neither)\s{_SOURCES}\s{_TELLS}$
    | nothing\s(?:can\ be|is)\ said\ (?:of|about|on)\s[^,]{{2,60}}$
    | a\ (?:direct|clear|full)\ (?:answer|comparison)\ is\ (?:missing|lacking)$
    | there\s(?:is|are)\sno\s[^,]{{2,90}}\sin\s+{_SOURCES}$
    | missing\sfrom\s{_SOURCES}\s(?:is|are)\b
    | what\s{_SOURCES}\s(?:lack|(?:do|does)\snot\s{_TELL})\s(?:is|are)\b
    | [^,]{{2,90}}\scan(?:not|\snot)\sbe\s(?:\w+\s)?(?:{_TOLD}|drawn|taken|told|determined|read|derived|calculated)
      \s(?:from|by|with|on)\s+{_SOURCES}$
    | no\s[^,]{{2,90}}\sin\s+{_SOURCES}$ )""",
    re.IGNORECASE | re.VERBOSE,
)
OPEN = re.compile(
    rf"""(?:however|here|still|yet|and|but)?,?\s*(?:
      (?:how|whether|what|which|why|who|when|where)\b[^,]{{2,120}}\s(?:remains?|is|are|stays?)\s+{_OPEN}
      (?:\s+(?:here|(?:in|from|on|after)\s+{_SOURCES}))?$
    | it\s(?:remains|is|stays)\s+{_OPEN},?\s+(?:how|whether|what|which|why|who|when|where)\b[^,]{{2,120}}$ )""",
    re.IGNORECASE | re.VERBOSE,
)
"""What is left open: with no figure in it and no name that is not spoken of around it."""
SO = re.compile(
    rf"""(?:and|so|hence|thus|therefore|which\ means\ that)?,?\s*(?:
      what\ (?:it|they|{_SOURCES})\ (?:do\ |does\ )?(?:says?|contains?|shows?|gives?|offers?)\ (?:is|are)\b
    | what\ follows\ is\b
    | it\ would\ be\ wrong\ to\ (?:read|take)\ (?:their|its|this|that)\ (?:absence|silence)\ as\b
    | (?:the|this|a|no|any)\ (?:direct\ )?(?:comparison|question|point|answer|ranking|conclusion|judgement|judgment)\s
      (?:(?:has|have)\ to|must|can|cannot|could|remains?|is|stays)\b
    | (?:the|this)\s(?:\w+\s){{1,3}}(?:remains?|stays|is\sleft)\s(?:open|unclear|undecided|unsettled)$
    | (?:it|this)\ (?:cannot|can\ not|remains|must|has\ to)\ (?:be\ )?
      (?:open|unclear|left|decided|judged|said|told)\b )""",
    re.IGNORECASE | re.VERBOSE,
)

_HAN_SOURCES = (
    r"(?:就|在|从|從)?(?:(?:现有|現有|所给|所給|给出|給出|上述|上面|这些|這些|这|這|该|該|所引|引用|已有|可用|检索到|檢索到|给定|給定"
    r"|提供|手头|手頭|目前|本次|全部|所有|各|每|任何|任一|[两兩三几幾一])的?(?:[份个個篇条條段处處])?)*"
    r"(?:段落|资料|資料|来源|來源|材料|文献|文獻|出处|出處|文中|原文|引文|摘录|摘錄)(?:中|里|裡|内|內|本身|之中)?"
    r"(?:[对對][^，。]{1,16}|[就关關][于於]?[^，。]{1,16})?(?:均|都|也|并|並|尚|仍|皆|还|還|[对對]此|就此)*"
)
_HAN_TELL = (
    r"(?:直接|明确|明確|具体|具體|逐一|单独|單獨|详细|詳細|系统地?|进一步|給出?|给出?)*"
    r"(?:列出|给出|給出|说明|說明|提及|提到|提供|涉及|谈到|談到|谈及|談及|比较|比較|指出|量化|区分|區分|回答|讨论|討論|披露"
    r"|报告|報告|记载|記載|解释|解釋|包含|显示|顯示|交代|评估|評估|预测|預測|覆盖|对比|對比|测量|描述|界定|注明|公布|统计|出现|出現|拆分|单列|單列|列明|列示|写明|寫明|标明|標明|细分|細分|换算|換算|统一|統一|折算|计算|計算|核算|记录|記錄"
    r"|公开|公開|展开|展開|作出|做出|追踪|追蹤|考察|检验|檢驗|分析|研究|说|說|讲|講|给|給)"
)
_HAN_THINGS = (
    "(?:数据|數據|数字|數字|资料|資料|信息|資訊|配置|金额|金額|比较|比較|对比|對比|口径|口徑|说明|說明|统计|統計|记录|記錄|记载|記載"
    "|答案|证据|證據|估计|估計|预测|預測|指标|指標|数值|數值|比例|占比|佔比|收益率|价格|價格|明细|明細|细节|細節|内容|內容|结论|結論|依据|依據"
    "|披露|解释|解釋|排名|定义|定義|时间|時間|日期|案例|规模|規模)"
)
"""What a source may have, and lack."""
_HAN_NONE = (
    "(?:没有|沒有|并无|並無|尚无|尚無|未见|未見|不见|不見|缺乏|缺少"
    "|找不到|查不到|看不到|看不出|见不到|見不到|不含|未含|无|無|缺)"
)
HAN_LACKING = re.compile(
    rf"(?:但|不过|不過|然而|可是|至于[^，。]{{1,16}}[，,]?)?"
    rf"(?:{_HAN_SOURCES}(?:没有|沒有|未|未能|不曾|并未|並未|均未|无法|無法|不足以|没能|沒能){_HAN_TELL}"
    rf"|{_HAN_SOURCES}(?:缺乏|缺少|只字未提|只字不提|隻字未提)|{_HAN_SOURCES}{_HAN_NONE}[^，。；]{{0,30}}?{_HAN_THINGS}$"
    rf"|(?:没有|沒有|尚无|尚無|并无|並無|未见|未見)(?:任何)?(?:一[份个個篇条條段])?{_HAN_SOURCES}(?!显示|顯示|指出|说(?!明)|說(?!明)){_HAN_TELL}"
    rf"|[^，。；]{{2,24}}(?:在)?{_HAN_SOURCES}(?:没有|沒有|未|未能|并未|並未|均未|无法|無法){_HAN_TELL}(?:出来|出來|过|過)?$"
    rf"|(?:目前)?(?:缺乏|缺少)(?:相关|相關|直接|可比|足够|足夠|进一步)?的?(?:数据|數據|资料|資料|证据|證據|信息|資訊))"
)
HAN_SO = re.compile(
    r"(?:因此|因而|所以|故|从而|從而|由此)?(?:也|暂|暫|尚)?"
    r"(?:(?:无法|無法|难以|難以|不能|不宜|有待|尚待|只能留待)(?:据此|據此|逐一|逐家|直接|进行|進行)*"
    r"(?:比较|比較|判断|判斷|得出|回答|确定|確定|量化|估计|估計|补充|補充|评估|評估|核实|核實|下结论|下結論|对比|對比)"
    r"|(?:这|這|该|該|此)(?:一|个|個)?(?:问题|問題|点|點|方面|项|項)(?:仍|尚|还|還)?(?:有待|需要?|待))"
)

_JA_SOURCES = (
    "(?:(?:与えられた|提供された|手元の|引用した|今回の|これらの|上記の|現在の|いずれの|どの|各)*"
    "(?:出典|資料|情報源|文献|抜粋|引用箇所|箇所|ソース)(?:のうち|の中)?(?:のいずれ|のどれ)?)"
)
_JA_LACKING = re.compile(
    rf"(?:ただし|しかし|なお|一方)?、?(?:[^、。]{{2,40}}(?:は|については?|に関して|を))?、?{_JA_SOURCES}(?:に|から|で|に(?:おいて|よって))?(?:は|も|が|では)?、?"
    "(?!.*(?:ため|ので|から、|けれど|ものの|一方で|により))[^、。]{0,50}"
    "(?:(?:が|は|も)?(?:ない|なかった|ありません|存在しない|見当たらない|見つからない)|(?:示|触|比|述|挙|含|得|記|明|扱|論|説明|言及|記載|公表|開示|提供|報告|比較|区別|回答|評価|測定)"
    "[\u3040-\u309f\u4e00-\u9fff]{0,8}(?:ない|いません|ません|なかった)|(?:分|わ)から(?:ない|ず)|不明(?:である|だ|です)?|読み取れない|確認できない)"
)
_DE_SOURCES = (
    r"(?:(?:die|der|den|diese[nr]?|alle[nr]?|beiden?|vorliegenden|genannten|zitierten|angeführten|verfügbaren|gegebenen)\s+)*"
    r"(?:Quellen?|Textstellen?|Passagen?|Auszüge[n]?|Belegstellen?|Fundstellen?)"
)
_DE_TELL = (
    r"(?:nenn|beziffer|enthalt|enthält|geb|gib|mach|liefer|vergleich|trenn|beleg|erwähn|beschreib|erklär|behandel|untersuch|mess|miss"
    r"|beantwort|quantifizier|ordn|aufschlüssel|schlüssel|unterscheid|zeig|sag|biet|führ|weis|stell|datier|prüf|erlaub|geh|leg|setz"
    r"|verrat|verrät|äußer|sprech|sprich|schweig|lass|lässt)\w*"
)
_DE_OPEN = r"(?:offen|unklar|ungeklärt|unbekannt|unbeantwortet)"
_DE_REST = r"(?:\s+(?!(?:und|oder|aber|dass|weil|obwohl|sondern|sowie)\b)[^\s,]+){0,14}"
_DE_LACKING = re.compile(
    rf"(?:(?:Hier|Allerdings|Jedoch|Dazu|Darüber|Hierzu)\s+)?(?:keine[r]?\s+(?:(?:dieser|der)\s+)?{_DE_SOURCES}\s+{_DE_TELL}{_DE_REST}"
    rf"(?:(?:\s+(?:und|oder)){_DE_REST})?(?:,\s+(?:ob|wie|welche\w*|was|wann|wo){_DE_REST})?"
    rf"|{_DE_SOURCES}\s+{_DE_TELL}(?:\s+(?!(?:und|aber|dass)\b)[^\s,]+){{0,5}}?\s+(?:kein\w*|nicht|nichts){_DE_REST}"
    rf"(?:,\s+(?:ob|wie|welche\w*|was|wann|wo){_DE_REST})?"
    rf"|{_DE_SOURCES}\s+lassen\s+offen,\s+(?:ob|wie|welche\w*|was|wann|wo){_DE_REST}|(?:dazu|darüber|hierzu)\s+schweigen\s+{_DE_SOURCES}"
    rf"|in\s+{_DE_SOURCES}\s+(?:finde[tn]|steh\w*|fehl\w*|gibt)\s+(?:sich\s+|es\s+)?(?:(?:dazu|hierzu|darüber)\s+)?(?:kein\w*|nichts)?{_DE_REST}"
    rf"|\S+{_DE_REST}\s+(?:fehl(?:t|en)|finde[tn]\s+sich)\s+(?:nicht\s+)?in\s+{_DE_SOURCES}"
    rf"|(?:ob|wie|welche\w*|was|wann|wo){_DE_REST},\s+(?:bleibt|ist)\s+(?:\w+\s+)?{_DE_OPEN}"
    rf"|{_DE_OPEN}\s+(?:bleibt|ist)(?:\s+\w+)?,\s+(?:ob|wie|welche\w*|was|wann|wo){_DE_REST}"
    rf"|(?:aus\s+)?{_DE_SOURCES}\s+lässt\s+sich{_DE_REST}\s+nicht\s+(?:entnehmen|ableiten|ablesen|sagen|bestimmen)"
    rf"(?:,\s+(?:ob|wie|welche\w*|was|wann|wo){_DE_REST})?)",
    re.IGNORECASE,
)
_KANA = re.compile("[\u3040-\u309f]")
_DE_SIGN = re.compile("Quelle|Textstelle|Passage|Auszüge|Belegstelle|Fundstelle|bleibt|ist ")
"""What any such sentence has: most have none, and that is quickly seen."""


def only_lacks(said: str) -> bool:
    """Return whether a sentence of German or Japanese says nothing but what its sources lack, or what is left open."""
    if _KANA.search(said):
        return bool(_JA_LACKING.fullmatch(said))
    return bool(_DE_SIGN.search(said) and _DE_LACKING.fullmatch(said))
