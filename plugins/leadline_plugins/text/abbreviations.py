"""Behind what a full stop may stand without ending a sentence, abbreviations and ordinals; and what begins one."""

from __future__ import annotations

from leadline_plugins.text.stopwords import word_set

TITLES = word_set(
    """mr mrs ms dr prof st mt ft vs fig figs nos vol pp eq ch sec cf e.g i.e eg ie al ca bzw z.b d.h u.a nr bspw vgl
    mme gen gov rep sen col lt sgt capt rev hon pres op ed eds trans approx dept est assn bros viz
    डॉ प्रो ডা ดร นพ ผศ รศ тыс млн млрд"""
)
"""Abbreviations after which a sentence goes on."""
COUNTING = word_set(
    """no nr abs art abb anm anl bd kap rn rz tab ziff zf lit par cap cc núm num pág pag págs str č čl poz ust pkt kl
    stk sid ст п пп рис табл стр ч разд"""
)
"""Abbreviations after which a sentence goes on where a number follows."""
ORDINALS = word_set(
    """januar jänner februar feber märz april mai juni juli august september oktober november dezember jahrhundert
    jahrhunderts jahrtausend jahrtausends jh jhd jhdt quartal quartals halbjahr hälfte weltkrieg weltkriegs yüzyıl
    yüzyılda yüzyılın dünya siècle století stoletja wieku század århundrede århundre"""
)
"""What a number with a full stop counts, as it may be written with a capital: `8. September`, `19. Jahrhundert`."""
BEFORE_ORDINALS = word_set("am im dem den der des die das vom zum zur beim ab")
"""Words of German behind which a number with a full stop is an ordinal: `der 20. Bundestag`."""
ENDINGS = word_set("jr sr inc ltd co corp etc usw jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m")
"""Abbreviations that may end one: it does where the next word is a usual opener."""
OPENERS = word_set(
    """the a an it he she they we i this that these those in on at after before during when while although however but
    and as for his her its their there by from with if some many most both according since der die das er sie es im le
    la les il elle el los danach dann dies diese он она оно они это эти этот эта в на с по при для после однако но и а
    также затем когда если"""
)
