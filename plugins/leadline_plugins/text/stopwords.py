"""Stop words: the function words of the main languages, as few as serve.

They carry no topic, so they neither count as covered nor as missing; and their share in a text tells its language.
"""

from __future__ import annotations


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set: lists of words read best as text."""
    return frozenset(words.split())


STOPWORDS: dict[str, frozenset[str]] = {
    "en": word_set(
        """a about after all also an and any are as at be because been before being between both but by can could did
        do does during each for from had has have he her here him his how i if in into is it its just me more most my
        no nor not of off on once only or other our out over own per same shall she should so some such than that the
        their them then there these they this those through to too under until up upon us very via was we were what
        when where whether which while who whom whose why will with within without would you your"""
    ),
    "de": word_set(
        """aber als am an auch auf aus bei bis das dass dem den der des die diese dieser dieses durch ein eine einem
        einen einer eines er es für hat ich ihr im in ist mit nach nicht noch nur oder sein sich sie sind so über um
        und unter von vor war was welche welcher wenn wer werden wie wird wo wurde wurden zu zum zur zwischen"""
    ),
    "fr": word_set(
        """au aux avec ce ces cette comment dans de des du elle en est et été il ils je la le les leur lui mais ne nous
        on ont ou où par pas plus pour qu que quel quelle qui sa se ses son sont sur un une vous était"""
    ),
    "es": word_set(
        """al como con cuál cuándo de del dónde el ella en entre era es esta este fue ha la las lo los más no o para
        pero por que qué quién se ser si sin sobre son su sus también un una y ya"""
    ),
    "it": word_set(
        """al alla anche che chi come con da dal dalla degli dei del della delle di dove e era gli ha il in la le lo
        nel nella non per più quale quando sono su sul tra un una è"""
    ),
    "pt": word_set(
        """ao aos as com como da das de do dos e ela ele em entre era foi mais mas na nas no nos não o os ou para pela
        pelo por qual quando que quem se seu sua são também um uma é"""
    ),
    "nl": word_set(
        """aan als bij dat de der deze die dit door een en er haar heeft het hij hoe ik in is met naar niet of om onder
        ook op over te tot uit van voor waar wat werd wie worden zijn zou"""
    ),
    "sv": word_set(
        """att av de den det efter eller en ett från för han har hon hur i inte med men när och om på sig som till var
        vad vid är"""
    ),
}
CJK_STOPWORDS = word_set(
    """的 了 是 在 与 與 及 也 都 而 之 其 被 把 这 這 那 哪 谁 誰 何 吗 嗎 呢 么 麼 吧 啊 有 和 为 為 请问
    請問 什么 什麼 怎么 怎麼 怎样 怎樣 如何 哪里 哪裡 哪个
    哪個 哪些 哪年 哪位 多少 是否 为什么 為什麼 为何 為何 何时 何時 几个 幾個
    一个 一個 这个 這個 那个 那個 何年 何人 何処"""
)
"""Words of Chinese and Japanese that ask or join; hiragana is left out by its script."""
