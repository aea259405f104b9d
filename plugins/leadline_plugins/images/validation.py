"""Convert untrusted pictures for a report, in a worker process, because decoders are written in C.

What comes out is pixels only: decoded, rotated by the orientation in the file, on white, scaled, and encoded without
metadata.
"""

from __future__ import annotations

from importlib.util import find_spec
from io import BytesIO
from typing import Any

from leadline.errors import Unsupported
from leadline.records import Blob, Record
from leadline.workers import WorkerDied, run
from leadline_plugins.fetch.guard import shown
from leadline_plugins.parse.media import MOST_PIXELS

ACCEPTED = ("image/png", "image/jpeg", "image/jpg", "image/webp", "image/gif")
EXTRA = "leadline[images]"
_FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
# Seconds of processor time, and bytes of memory.
_SECONDS, _MEMORY = 20, 1_000_000_000
# Pixels of a side at least, and the largest ratio of the sides.
_WIDTH, _HEIGHT, _RATIO = 200, 120, 5
# Pixels that the result fits: at 144 dpi the width of a page, and less than half its height.
_BOX, _DPI = (1400, 700), (144, 144)
# A picture with a smaller range of brightness (of 255) is empty.
_EMPTY = 8
_QUALITY = 85
# Tolerances of brightness (of 255) and of the aspect ratio for equal pictures.
_FIELD, _SHAPE = 10, 1.05


class Picture(Record):
    """A picture for a report: PNG or JPEG without metadata. Pictures that look alike have similar `mark`s."""

    media_type: str
    size: tuple[int, int]
    mark: str
    data: bytes

    def looks_like(self, other: Picture) -> bool:
        """Return whether both pictures look the same at any size: no field differs more than by compression."""
        shape = self.size[0] * other.size[1] / (self.size[1] * other.size[0])
        fields = zip(bytes.fromhex(self.mark), bytes.fromhex(other.mark), strict=True)
        return 1 / _SHAPE < shape < _SHAPE and all(abs(first - second) <= _FIELD for first, second in fields)


def can_read_pictures() -> bool:
    """Return whether Pillow is installed."""
    return find_spec("PIL") is not None


async def validate_picture(blob: Blob) -> Picture:
    """Return the picture of a file. Raises `Unsupported` with its address and the reason."""
    where = shown(blob.name)
    try:
        return await run(convert, blob.data, timeout=_SECONDS, memory=_MEMORY)
    except Unsupported as error:
        raise Unsupported(f"{where}: {error}") from None
    except TimeoutError:
        raise Unsupported(f"{where} was not decoded within {_SECONDS} s") from None
    except (MemoryError, WorkerDied) as error:
        raise Unsupported(f"{where}: broke the decoder ({type(error).__name__})") from error


# --- in the worker ---------------------------------------------------------------------------------------------------


def convert(data: bytes) -> Picture:
    """Return the converted picture. Raises `Unsupported` with the reason."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked below, with a readable reason
    try:
        with Image.open(BytesIO(data), formats=_FORMATS) as picture:
            _judge(*picture.size)
            picture.draft("RGB", _BOX)
            upright = ImageOps.exif_transpose(picture)
    except UnidentifiedImageError:
        raise Unsupported(f"is no picture that can be read ({', '.join(_FORMATS)})") from None
    except Unsupported:
        raise
    except Exception as error:  # broken files raise any exception
        raise Unsupported(f"is broken ({type(error).__name__})") from error
    return _written(_on_white(upright))


def _judge(width: int, height: int) -> None:
    """Raise `Unsupported` for the declared size, before anything is decoded."""
    too = ""
    if width * height > MOST_PIXELS:
        too = "too large"
    elif width < _WIDTH or height < _HEIGHT:
        too = "too small"
    elif max(width, height) > _RATIO * min(width, height):
        too = "a strip"
    if too:
        raise Unsupported(f"has {width:,} x {height:,} pixels, which is {too}")


def _on_white(picture: Any) -> Any:
    from PIL import Image

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        ground = Image.new("RGBA", picture.size, "white")
        ground.alpha_composite(picture.convert("RGBA"))
        picture = ground
    if picture.mode.startswith("I"):  # 16 bits per pixel; screens show 8
        picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return picture.convert("RGB")


def _written(picture: Any) -> Picture:
    """Return the picture as PNG or JPEG, whichever is smaller."""
    grey = picture.convert("L")
    low, high = grey.getextrema()
    if high - low < _EMPTY:
        raise Unsupported("is of one colour")
    picture.thumbnail(_BOX)
    forms: dict[str, bytes] = {}
    for kind, options in (("png", {"optimize": True}), ("jpeg", {"quality": _QUALITY, "optimize": True})):
        out = BytesIO()
        picture.save(out, kind.upper(), dpi=_DPI, **options)
        forms[f"image/{kind}"] = out.getvalue()
    kind, data = min(forms.items(), key=lambda form: len(form[1]))
    return Picture(media_type=kind, size=picture.size, mark=_mark(grey), data=data)


def _mark(grey: Any) -> str:
    """Return the brightness of 16 x 16 fields as hexadecimal digits; it hardly depends on the size."""
    from PIL import Image

    return str(grey.resize((16, 16), Image.Resampling.BOX).tobytes().hex())
