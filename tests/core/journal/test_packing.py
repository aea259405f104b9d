from __future__ import annotations

import random
import zlib

import pytest

from leadline.journal.packing import packed


@pytest.mark.parametrize("size", [0, 1, 255, 256, 511, 512, 513, 1023, 5_000, 16_384, 32_767, 32_768, 300_000])
def test_what_is_packed_is_unpacked_by_zlib_and_hardly_larger_than_by_it(size: int) -> None:
    chance = random.Random(size)
    prose = b" ".join(b"word%d" % chance.randrange(2_000) for _ in range(size // 4))[:size]
    for data in (prose, chance.randbytes(size), b"a" * size):
        assert zlib.decompress(packed(data)) == data
        assert len(packed(data)) <= 1.06 * len(zlib.compress(data, 1)) + 16


def test_a_short_text_has_a_small_window() -> None:
    assert [packed(b"a" * size)[0] >> 4 for size in (1, 511, 512, 20_000, 10**6)] == [1, 1, 2, 7, 7]
