"""What is let in of a picture's bytes: pixels alone, of a bounded size, whatever else is in the file."""

from __future__ import annotations

import math
import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from leadline.errors import Unsupported
from leadline.records import Blob
from leadline_plugins.images import validation
from leadline_plugins.images.validation import Picture, convert, validate_picture
from leadline_plugins.parse.media import declared_pixels


def gradient(width: int = 640, height: int = 400, mode: str = "RGB") -> Image.Image:
    return Image.linear_gradient("L").resize((width, height)).convert(mode)


@pytest.mark.parametrize(("kind", "options"), [("PNG", {}), ("JPEG", {}), ("JPEG", {"progressive": True}), ("GIF", {})])
def test_the_declared_pixels_are_known_without_decoding(kind: str, options: dict[str, Any]) -> None:
    data = encoded(gradient(640, 400), kind, **options)
    assert declared_pixels(data) == (640 * 400 if kind != "GIF" else math.inf)
    assert declared_pixels(data[:12]) == declared_pixels(b"") == math.inf


def encoded(image: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    out = BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def opened(done: Picture) -> Image.Image:
    return Image.open(BytesIO(done.data))


async def check(data: bytes) -> Picture:
    return await validate_picture(Blob(name="https://example.org/x.png?key=secret", media_type="image/png", data=data))


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
async def test_a_raster_picture_is_let_in(kind: str) -> None:
    done = await check(encoded(gradient(), kind))
    image = opened(done)
    assert (image.size, image.mode, done.size) == ((640, 400), "RGB", (640, 400))
    assert done.media_type == f"image/{str(image.format).lower()}"


async def test_a_large_picture_is_scaled_to_a_page() -> None:
    assert (await check(encoded(gradient(4000, 3000), "JPEG"))).size == (933, 700)


async def test_nothing_but_pixels_comes_out() -> None:
    exif = Image.Exif()
    exif[0x0110] = "SECRET camera"
    exif[0x0112] = 6  # lying on its side
    data = encoded(gradient(), "JPEG", exif=exif, comment=b"SECRET")
    done = await check(data + b"<script>SECRET</script>")
    assert b"SECRET" in data
    assert b"SECRET" not in done.data
    assert done.size == (400, 640)
    info = PngInfo()
    info.add_text("Comment", "SECRET")
    assert b"SECRET" not in (await check(encoded(gradient(), pnginfo=info))).data


async def test_what_can_be_seen_through_stands_on_white() -> None:
    clear = Image.new("RGBA", (300, 200), (0, 0, 0, 0))
    clear.paste((0, 0, 0, 255), (100, 50, 200, 150))
    image = opened(await check(encoded(clear)))
    assert image.getpixel((0, 0)) == (255, 255, 255)
    assert max(image.convert("RGB").getpixel((150, 100))) < 10  # type: ignore[arg-type]


async def test_sixteen_bits_are_told_apart() -> None:
    row = struct.pack("<150H", *[60_000] * 150) + bytes(300)
    deep = Image.frombytes("I;16", (300, 200), row * 200)
    image = opened(await check(encoded(deep))).convert("L")
    assert [image.getpixel((10, 10)), image.getpixel((290, 10))] == [234, 0]


def bomb(width: int, height: int) -> bytes:
    """Return a PNG that says it has so many pixels, and holds a few."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"<html><body>No picture at all</body></html>", "is no picture that can be read"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' width='300' height='300'/>", "is no picture that can be read"),
        (b"", "is no picture that can be read"),
        (encoded(gradient(), "BMP"), "is no picture that can be read"),
        (encoded(gradient(), "TIFF"), "is no picture that can be read"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 300 300\n", "is no picture that can be read"),
        (bomb(60_000, 60_000), "60,000 x 60,000 pixels, which is too large"),
        (bomb(2**31 - 1, 2**31 - 1), "too large"),
        (bomb(3000, 3000), "is broken"),
        (encoded(gradient())[:200], "is broken"),
        (encoded(gradient(40, 40)), "40 x 40 pixels, which is too small"),
        (encoded(gradient(1300, 130)), "which is a strip"),
        (encoded(Image.new("RGB", (300, 300), "grey")), "is of one colour"),
    ],
)
def test_what_is_no_fit_picture_is_refused_with_the_reason(data: bytes, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        convert(data)


async def test_a_refusal_names_the_address_without_its_query() -> None:
    with pytest.raises(Unsupported, match="is no picture") as refused:
        await check(b"<html>")
    assert str(refused.value).startswith("https://example.org/x.png")
    assert "secret" not in str(refused.value)


async def test_a_decoder_that_dies_takes_nothing_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_MEMORY", 60_000_000)
    with pytest.raises(Unsupported, match=r"broke the decoder|is broken"):
        await check(encoded(gradient(6000, 6000)))


async def test_a_decoder_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "_SECONDS", 0.01)
    with pytest.raises(Unsupported, match="was not decoded within 0.01 s"):
        await check(encoded(gradient(6000, 6000)))


async def test_the_same_picture_is_known_in_another_size() -> None:
    drawn = gradient()
    drawn.paste("red", (100, 100, 300, 200))
    large, small = await check(encoded(drawn)), await check(encoded(drawn.resize((320, 200)), "JPEG"))
    assert large.looks_like(small)
    assert small.looks_like(large)
    cut = await check(encoded(drawn.crop((0, 0, 640, 300)).resize((640, 400))))
    line = gradient()
    line.paste("red", (100, 100, 300, 110))
    others = cut, await check(encoded(line)), await check(encoded(drawn.resize((640, 600))))
    assert [large.looks_like(other) for other in others] == [False, False, False]
