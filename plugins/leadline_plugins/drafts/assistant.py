"""What an assistant says beside the text that was asked of it: that it will not write it, and talk before and behind.

Only whole paragraphs at the two ends go, short ones that cite nothing and speak of the text, not of its subject; and
at its end sentences in which a model speaks of itself, or says that something is to be noted and no more. The phrases
are those of the languages in which models are trained most; of others all stays.
"""

from __future__ import annotations

import re
from itertools import islice

from leadline_plugins.text import sentences

_LONGEST = 350
"""Characters of a paragraph that may be talk."""
_WORK = (
    r"section|text|draft|version|summary|conclusion|report|paragraph|analysis|response|answer|json(?: object)?|rewrite"
    r"|revision|markdown|output"
)
_REFUSES = re.compile(
    r"(?:unfortunately|regrettably|leider|malheureusement|lamentablemente|purtroppo|infelizmente|helaas)?[,，]?\s*(?:"
    # English
    r"(?:i['’]m|i am|we are|we['’]re)\s+(?:\w+\s+)?(?:sorry|afraid|unable to|not able to)\b"
    r"|(?:my |our )?(?:sincere )?apologies[,.!:;]|i apologi[sz]e\b|sorry,? (?:but )?i\b"
    r"|i (?:can(?:not|['’]t| not)|could not|couldn['’]t|will not|won['’]t|do not have|don['’]t have|am not able) "
    r"(?:\w+ )?(?:write|provide|help|assist|comply|complete|fulfil+|create|generate|answer|produce"
    r"|summari[sz]e|verify|do"
    r"|access|any|enough|sufficient|the)\b"
    r"|as an? (?:(?:ai|artificial intelligence)(?: (?:language model|assistant|model))?(?:,| i\b)"
    r"|(?:large )?language model\b)"
    # German, Dutch
    r"|(?:es )?tut mir (?:sehr )?leid\b|(?:kann|darf) ich (?:\w+ )?(?:nicht|kein)|ich kann (?:leider"
    r"|diesen|dieses|dir|ihnen"
    r"|keinen?|das|die|nicht)\b|als (?:ki|künstliche intelligenz|sprachmodell)\b|het spijt me\b"
    r"|ik kan (?:deze|dit|niet|geen)"
    r"|kan ik (?:deze|dit|niet|geen)"
    # French, Spanish, Italian, Portuguese
    r"|(?:je suis )?désolée?\b|je (?:ne peux|ne suis pas en mesure)|en tant qu['’](?:ia|intelligence|assistant)"
    r"|en tant que modèle de langage|lo siento\b|(?:yo )?no puedo (?:escribir|redactar|ayudar|proporcionar|cumplir)"
    r"|como (?:(?:un )?modelo de lenguaje|ia\b|inteligencia artificial|(?:um )?modelo de linguagem)|mi dispiace\b"
    r"|non posso (?:scrivere|aiutare|fornire|completare)|come (?:modello linguistico|ia\b|intelligenza artificiale)"
    r"|(?:peço )?desculpas?\b|não posso (?:escrever|ajudar|fornecer)"
    # Russian, Chinese, Japanese, Korean
    r"|(?:к сожалению,? )?я не могу\b|извините\b|как (?:ии|языковая модель)\b"
    r"|(?:非常|很|十分)?(?:抱歉|对不起|對不起)|我(?:无法|無法|不能|没有办法)|作[为為]一?[个個]?(?:ai|人工智[能慧]|语言模型|語言模型)"
    r"|申し訳(?:あり|ござい|ない)|(?:すみません|ごめんなさい)|私は(?:ai|言語モデル)|(?:ai|言語モデル)として"
    r"|죄송(?:합니다|하지만)|저는 (?:ai|인공지능|언어)|(?:ai|언어) 모델로서"
    r")",
    re.IGNORECASE,
)
_LEADS_IN = re.compile(
    r"(?:(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|alright|understood|got it|great|gladly|yes|thank you"
    r"|gerne|natürlich|klar|selbstverständlich|bien sûr|d['’]accord|voici|claro|por supuesto|certo|certamente|ecco"
    r"|natuurlijk|конечно|好的|当然|當然|没问题|沒問題|もちろん|はい|承知(?:しま|いたしま)した|네|물론(?:입니다|이죠)?)"
    r"[!.,:：，。！、\s]*)?"
    r"(?:(?:here(?: is|['’]s)|below is|i(?:['’]ve| have) (?:written|prepared|revised|drafted|corrected)) "
    rf"(?:the|your|an?|my) (?:[\w-]+ ){{0,3}}?(?:{_WORK})(?: (?:you (?:asked|requested)|as requested"
    rf"|requested|based on|for"
    r"|in|with|on|about|of the (?:\w+ ){0,2}?(?:section|report|research|findings))\b[^.!?\n]*)?"
    r"|(?:hier (?:ist|sind|folgt)|im folgenden|nachfolgend)\b(?=[^.!?]*(?:abschnitt|text|bericht|fassung"
    r"|zusammenfassung|entwurf))"
    r"[^.!?\n]*"
    r"|(?:voici|ci-dessous)\b(?=[^.!?]*(?:section|texte|résumé|version|rapport|conclusion))[^.!?\n]*"
    r"|(?:aquí (?:está|tiene)|a continuación|aqui está|a seguir|ecco|di seguito)\b"
    r"(?=[^.!?]*(?:secci[oó]n|seção|sezione|texto|testo|resumen|resumo|riassunto|versi|informe"
    r"|relat[oó]rio|rapporto))[^.!?\n]*"
    r"|(?:вот|ниже)\b(?=[^.!?]*(?:раздел|текст|версия|отч[её]т))[^.!?\n]*"
    r"|(?:以下|下面|这|這)(?:是|为|為)(?=[^。！？]*(?:章节|章節|部分|正文|段落|报告|報告|内容|內容|摘要|总结|總結|版本))[^。！？\n]*"
    r"|以下(?:は|が|に)(?=[^。！？]*(?:セクション|文章|本文|レポート|要約|節|内容))[^。！？\n]*"
    r"|다음은(?=[^.!?]*(?:섹션|보고서|본문|요약|내용))[^.!?\n]*)?"
    r"[!.:：。！…\s]*",
    re.IGNORECASE,
)
_SURE = re.compile(
    r"(?:sure(?: thing)?|certainly|of course|absolutely|okay|alright|understood|got it|gladly|gerne|natürlich|bien sûr"
    r"|d['’]accord|claro|por supuesto|certo|certamente|natuurlijk|конечно|好的|当然|當然|没问题|沒問題|もちろん"
    r"|承知(?:しま|いたしま)した|네|물론입니다)"
    r"(?:\s*(?P<ends>[!！])|\s*[,，、:：.。])\s*",
    re.IGNORECASE,
)
"""How an assistant agrees; what goes on behind a comma may be of the subject."""
_HERE = re.compile(r"here(?: is|['’]s)|below is|i(?:['’]ve| have) |(?:以下|下面)(?:是|为|為)", re.IGNORECASE)
_STOP = re.compile(r"[.:!?]+(?=\s)|[。：！？]+")
_STOPS = 4
"""Ends of clauses at which talk on the line of a text may end."""
_LEADS_OUT = re.compile(
    r"(?:i hope (?:this|that|it|you)|hope this helps|(?:please )?(?:let me know|feel free to"
    r"|don['’]t hesitate)|would you like"
    r"|if you (?:need|want|have|would like|['’]d like)\b[^.]*\b(?:me|let|further|changes|questions|else|know)"
    rf"|this (?:{_WORK}) (?:meets|adheres|complies|follows|contains|is (?:about|approximately"
    rf"|roughly) [\d,]+|has been written)"
    r"|(?:total |approximate )?word count\b|\(?\s*(?:approx(?:imately|\.)?|about"
    r"|total)?:?\s*[\d,]+ (?:words|characters)\s*\)?\W*\Z"
    r"|\[?end of (?:the )?(?:section|report|text|draft|summary)"
    r"|(?:all|every) (?:statements?|claims?|paragraphs?|citations?) (?:is|are|have been"
    r"|has been) (?:cited|supported|taken)"
    r"|note: (?:this|the above|i['’]?(?:ve| have)|all)\b"
    r"|ich hoffe,? (?:dass )?(?:dieser|dies|das|der)|(?:lass|lassen) (?:mich|sie mich|es mich)|wortzahl\b"
    r"|wörter:|anzahl (?:der )?wörter"
    r"|j['’]espère que|n['’]hésitez pas|nombre de mots|espero que (?:est[eao]|isto|te|le|isso)"
    r"|no dudes? en|recuento de palabras"
    r"|spero che (?:questo|questa|ti|sia)|fammi sapere|ik hoop dat|laat (?:het )?me weten"
    r"|надеюсь,? (?:что )?(?:это|вам|данн)"
    r"|希望(?:这|這|以上|本)[^。]*(?:帮助|幫助|要求|满足|滿足)|如(?:果|需|有)[^。]*(?:告诉我|告訴我|随时|隨時|请|請)|[(（]?(?:总|總)?字[数數](?:统计|統計)?[:：]"
    r"|(?:お役に立て|ご不明な点|他にご(?:質問|要望))|文字数[:：]|도움이 되(?:었|셨|길))",
    re.IGNORECASE,
)
_NOTES = re.compile(
    r"(?:in (?:conclusion|summary)|to (?:conclude|sum up)|overall|finally|zusammenfassend|en conclusion|en resumen)"
    r"[,，]? (?:it is|it['’]s) (?:also )?(?:important|essential|crucial|vital|worth)"
    r" (?:to )?(?:not(?:e|ing)|remember(?:ing)?)\b\D*"
    r"|(?:综上所述|总之|總之|總而言之|总而言之|最后|最後)[,，]?(?:值得|需要|应当|應當)(?:注意|指出|强调|強調)的是\D*",
    re.IGNORECASE,
)
"""A sentence that only ends a text: with a figure it would say something."""
_HEADING = re.compile(r"\A\s*#{1,6}[^\n]{0,200}\n")
_AROUND = " \t\n*_()[]（）【】-—#>"
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*")
_SENTENCE = re.compile(r"[^.!?。！？\n]{0,400}[.!?。！？]?[\"'”’)]*(?:\s*\[@[^\[\]\s]{1,100}\])*\s*")
_PARAGRAPHS = re.compile(r"(\n[ \t]*\n+)")


def refuses(text: str) -> bool:
    """Return whether a text says first of all that it is not written, or who does not write it."""
    said = _HEADING.sub("", unaddressed(text)).lstrip(_AROUND)
    return bool(_REFUSES.match(said[:_LONGEST]))


def without_refusal(text: str) -> str:
    """Return a text without the sentences at its beginning that refuse it."""
    said = unaddressed(text)
    if refuses(said):
        said = _HEADING.sub("", said).lstrip()
    while said and refuses(said) and (found := _SENTENCE.match(said)) and found.end():
        said = said[found.end() :].lstrip()
    return said


def unaddressed(text: str) -> str:
    """Return a text without the paragraphs before and behind it in which an assistant speaks to who asked."""
    parts = _PARAGRAPHS.split(text.strip())
    while len(parts) > 2 and _is_talk(parts[0], _LEADS_IN):
        del parts[:2]
    ended = False
    while len(parts) > 2 and (_is_talk(parts[-1], _LEADS_OUT, begins=True) or (ended and _RULE.fullmatch(parts[-1]))):
        ended = True
        del parts[-2:]
    parts[0] = _begun(parts[0])
    said = "".join(parts)
    unclosed = _unclosed(said)
    return unclosed if _HEADING.sub("", f"{unclosed}\n").strip() else said  # what is nothing else is a refusal


def _unclosed(text: str) -> str:
    """Return a text without the uncited sentences that end it in talk."""
    while text and not text.endswith("]"):  # as nearly all end, cited
        begins = max(0, len(text) - 2 * _LONGEST)
        spans = list(sentences(text[begins:]))[-1:]
        if not spans or not (start := begins + spans[0][0]) or not _closes(text[start:]):
            break
        text = text[:start].rstrip()
    return text


def _closes(sentence: str) -> bool:
    said = sentence.strip(_AROUND)
    if not said or len(said) > _LONGEST or "[@" in sentence:
        return False
    return bool(_REFUSES.match(said) or _NOTES.fullmatch(said))


def _begun(part: str) -> str:
    """Return a paragraph without a first line of talk, `Here is the section:`, or talk before what that line says."""
    first, line, rest = part.partition("\n")
    if line and rest.strip() and _is_talk(first, _LEADS_IN):
        return rest.lstrip("\n")
    sure = _SURE.match(part)
    if not sure and not _HERE.match(part):
        return part
    start = sure.end() if sure else 0
    ends = (stop.end() for stop in islice(_STOP.finditer(part, start, _LONGEST), _STOPS))
    led = (end for end in ends if _is_talk(part[start:end], _LEADS_IN))
    end = next(led, start if sure and sure["ends"] else 0)
    return part[end:].lstrip() or part


def _is_talk(part: str, talk: re.Pattern[str], *, begins: bool = False) -> bool:
    said = part.strip(_AROUND)
    if not said or len(said) > _LONGEST or "[@" in part:
        return False
    return bool(talk.match(said) if begins else talk.fullmatch(said))
