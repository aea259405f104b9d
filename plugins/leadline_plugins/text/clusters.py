"""Scripts of South-East Asia that leave out spaces between words: Thai, Lao, Burmese, Khmer.

As of Han, no dictionary says where a word ends. But a letter there is not one sign: a consonant stands with its vowel
signs and tones, and such a cluster is what a Han character is.
"""

from __future__ import annotations

import re
from itertools import pairwise

CLUSTERED = "\u0e01-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3"
"""Ranges of these scripts, without their digits and signs, for use in a character class."""
_BEFORE = "\u0e40-\u0e44\u0ec0-\u0ec4"
"""Vowels that are written before their consonant."""
_BEHIND = (
    "\u0e30-\u0e3a\u0e45\u0e47-\u0e4e\u0eb0-\u0ebc\u0ec8-\u0ecd\u102b-\u103e\u1056-\u1059\u105e-\u1060\u1062-\u1064"
    "\u1067-\u106d\u1071-\u1074\u1082-\u108d\u108f\u109a-\u109d\u17b4-\u17d3"
)
_STACKING = "\u17d2\u1039"
"""Signs that put the next consonant below."""
_CLUSTER = re.compile(f"[{_BEFORE}]*[^{_BEFORE}](?:[{_STACKING}][{CLUSTERED}]|[{_BEHIND}])*|[{_BEFORE}]+")
_FUNCTION = re.compile(
    "อย่างไร|อะไร|เท่าไร|เท่าใด|ทำไม|เมื่อไร|เมื่อใด|ที่ไหน|หรือไม่|หรือ|และ|ของ|เป็น|คือ|ซึ่ง|โดย|จาก|สำหรับ|ระหว่าง|กับ|เพื่อ"
    "|เมื่อ|แล้ว|ด้วย|ที่|ใน|บ้าง|ก็|ນັ້ນ|ແລະ|ຂອງ|ແມ່ນ|និង|នៃ|គឺ|သည်|နှင့်|များ|မှာ|တွင်"
)
"""The commonest words that join and ask."""


def grams(run: str) -> list[str]:
    """Return the clusters of a run, and the pairs of them."""
    found = _CLUSTER.findall(run)
    return [*found, *map("".join, pairwise(found))]


def content_grams(run: str) -> list[str]:
    """Return the pairs of clusters between function words; a run of one cluster stands for itself."""
    parts = [found for part in _FUNCTION.split(run) if (found := _CLUSTER.findall(part))]
    return [gram for found in parts for gram in (map("".join, pairwise(found)) if len(found) > 1 else found)]
