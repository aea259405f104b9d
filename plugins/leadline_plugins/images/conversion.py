"""Program that converts an untrusted picture for a report, from standard input to standard output.

    python -P -m leadline_plugins.images.conversion LIMITS < picture

Decoders are written in C, so they run in a process with little memory that can be killed. The output is pixels only:
decoded, rotated by the orientation in the file, on white, scaled, and encoded without metadata. The first line of the
output is JSON: a description, or why there is no picture.
"""

from __future__ import annotations

import json
import sys
from io import BytesIO
from typing import Any

FORMATS = ("JPEG", "PNG", "WEBP", "GIF")
# A picture with a smaller range of brightness (of 255) is empty.
_EMPTY = 8
_DPI = (144, 144)
_QUALITY = 85


class UnusableImage(ValueError):
    """The picture cannot be used; the message is the reason."""


def convert(data: bytes, limits: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return a description of the converted picture, and its bytes. Raises `UnusableImage`."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked below, with a readable reason
    try:
        with Image.open(BytesIO(data), formats=FORMATS) as picture:
            _judge(*picture.size, limits)
            picture.draft("RGB", tuple(limits["box"]))
            upright = ImageOps.exif_transpose(picture)
    except UnidentifiedImageError:
        raise UnusableImage(f"is no picture that can be read ({', '.join(FORMATS)})") from None
    except UnusableImage:
        raise
    except Exception as error:  # broken files raise any exception
        raise UnusableImage(f"is broken ({type(error).__name__})") from error
    return _written(_on_white(upright), limits)


def _judge(width: int, height: int, limits: dict[str, Any]) -> None:
    """Raise `UnusableImage` for the declared size, before anything is decoded."""
    if width * height > limits["pixels"]:
        raise UnusableImage(f"has {width:,} x {height:,} pixels, which is too large")
    if width < limits["width"] or height < limits["height"]:
        raise UnusableImage(f"has {width:,} x {height:,} pixels, which is too small")
    if max(width, height) > limits["ratio"] * min(width, height):
        raise UnusableImage(f"has {width:,} x {height:,} pixels, which is a strip")


def _on_white(picture: Any) -> Any:
    from PIL import Image

    if picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info:
        ground = Image.new("RGBA", picture.size, "white")
        ground.alpha_composite(picture.convert("RGBA"))
        picture = ground
    if picture.mode.startswith("I"):  # 16 bits per pixel; screens show 8
        picture = picture.convert("I").point(lambda value: value * (1 / 256)).convert("L")
    return picture.convert("RGB")


def _written(picture: Any, limits: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """Return the picture as PNG or JPEG, whichever is smaller."""
    grey = picture.convert("L")
    low, high = grey.getextrema()
    if high - low < _EMPTY:
        raise UnusableImage("is of one colour")
    picture.thumbnail(tuple(limits["box"]))
    forms: dict[str, bytes] = {}
    for kind, options in (("png", {"optimize": True}), ("jpeg", {"quality": _QUALITY, "optimize": True})):
        out = BytesIO()
        picture.save(out, kind.upper(), dpi=_DPI, **options)
        forms[f"image/{kind}"] = out.getvalue()
    kind, data = min(forms.items(), key=lambda form: len(form[1]))
    return {"media_type": kind, "size": picture.size, "mark": _mark(grey)}, data


def _mark(grey: Any) -> str:
    """Return the brightness of 16 x 16 fields as hexadecimal digits; it hardly depends on the size."""
    from PIL import Image

    return str(grey.resize((16, 16), Image.Resampling.BOX).tobytes().hex())


def _confine(limits: dict[str, Any]) -> None:
    try:
        import resource
    except ImportError:  # Windows: time alone is limited there, by the parent
        return
    for kind, limit in ((resource.RLIMIT_AS, limits["memory"]), (resource.RLIMIT_CPU, limits["seconds"])):
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))


def main() -> None:
    """Convert one picture."""
    limits = json.loads(sys.argv[1])
    _confine(limits)
    try:
        answer, data = convert(sys.stdin.buffer.read(), limits)
    except UnusableImage as unfit:
        answer, data = {"unfit": str(unfit)}, b""
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n" + data)


if __name__ == "__main__":
    main()
