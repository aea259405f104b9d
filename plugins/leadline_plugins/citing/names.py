"""What lists of sources are called, in the languages reports are written in, besides English, Chinese and Japanese."""

from __future__ import annotations

import re
from functools import cache

from leadline_plugins.wording import everywhere

_NAMES = (
    # German, Dutch, Danish, Norwegian, Swedish
    r"(?:quellen|literatur|referenz)(?:en)?(?:[- ]?(?:verzeichnis|nachweise?|angaben|liste|hinweise))?|"
    r"bibliogra(?:ph|f)ie|"
    r"(?:einzel|beleg)nachweise|nachweise|belege|(?:zitierte|verwendete|weitere) (?:literatur|quellen)|fu(?:ß|ss)noten|"
    r"anmerkungen|bronnen(?:lijst|vermelding)?|literatuur(?:lijst)?|geraadpleegde bronnen|referenties|kilder|"
    r"kildeliste|litteratur(?:liste)?|referanser|referencer|källor|källförteckning|litteraturförteckning|referenser",
    # French, Spanish, Portuguese, Italian, Catalan, Romanian
    r"(?:liste des )?(?:références?|sources)(?: (?:bibliographiques|citées|utilisées|consultées))?|"
    r"notes de bas de page|"
    r"(?:fuentes|referencias|fontes|referências|fonti|riferimenti|referències|surse|referințe)"
    r"(?: (?:bibliográficas|bibliografici|bibliogràfiques|bibliografice|citadas|citate|citades|consultadas|consultate|"
    r"utilizadas|utilizzate|usadas|usate))?|bibliograf(?:í|i)a|obras citadas|opere citate|sitografia|notas|"
    r"(?:notas de|notas) (?:al pie|rodapé)|note a piè di pagina|bibliografie",
    # Polish, Czech, Slovak, Hungarian, Finnish, Turkish, Indonesian, Vietnamese
    r"źródła|bibliografi[ae]|przypisy|literatura|spis literatury|zdroje|(?:použitá|použité) (?:literatura|zdroje)|"
    r"reference|források|irodalom(?:jegyzék)?|hivatkozások|lähteet|lähdeluettelo|viitteet|kaynak(?:ça|lar)|"
    r"referanslar|dipnotlar|daftar pustaka|referensi|sumber|rujukan|tài liệu tham khảo|nguồn(?: tham khảo)?",
    # Russian, Ukrainian, Bulgarian, Greek
    r"(?:список )?(?:использованн\w+ )?(?:литератур[аы]|источник(?:и|ов))|"
    r"(?:цитируемые|использованные|другие) источники|библиограф\w+(?: список)?|примечания|сноски|ссылки|"
    r"джерела|(?:список )?(?:використан\w+ )?(?:літератур[аи]|джерел[а]?)|посилання|примітки|източници|литература|"
    r"πηγές|βιβλιογραφία|αναφορές|παραπομπές",
    # Korean
    r"(?:참고|인용)\s?(?:문헌|자료|문서|출처)(?:\s?(?:목록|및 출처))?|출처(?:\s?목록)?|각주|인용한 출처",
    # Arabic, Persian, Urdu, Hebrew
    r"(?:قائمة )?(?:ال)?(?:مراجع|مصادر)(?: (?:المستخدمة|المستشهد بها))?|(?:ال)?هوامش|(?:ال)?حواشي|ببليوغرافيا|"
    r"منابع|مراجع|مآخذ|فهرست منابع|حوالہ جات|מקורות|ביבליוגרפיה|רשימת מקורות|הערות שוליים",
    # Thai, Hindi, Bengali
    r"(?:เอกสาร|แหล่ง|รายการ)?อ้างอิง|(?:แหล่งที่มา|แหล่งข้อมูล|บรรณานุกรม|เชิงอรรถ)(?:อ้างอิง)?|"
    r"संदर्भ(?: सूची| ग्रंथ)?|सन्दर्भ(?: सूची)?|स्रोत|ग्रंथ ?सूची|তথ্যসূত্র|সূত্র",
)
_AND = r"\s*(?:-?\s*(?:und|en|og|och|et|y|e|i|a|és|ja|ve|dan|và|и|та|και|및|و|และ|और|&|/))\s*"


@cache
def other_names() -> str:
    """Return a pattern of the names, alone or two joined by an `and`, and of the headings that we write ourselves."""
    one = f"(?:{'|'.join(_NAMES)})"
    ours = "|".join(map(re.escape, everywhere("cited", "additional")))
    return rf"{ours}|{one}(?:{_AND}{one})?(?: ?[(（][^()（）]*[)）])?"
