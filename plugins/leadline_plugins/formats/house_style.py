"""House style: files of a team that change how reports look, and the names of the reports that they make."""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from collections.abc import Callable
from functools import partial
from pathlib import Path

from leadline.contracts import Context
from leadline.display import missing_path
from leadline.errors import ConfigError
from leadline.files import read_limited

# Bytes of a file that a style sheet or a report holds.
_LARGEST = 10_000_000
# Endings of fonts and pictures whose type is not known everywhere.
_EMBEDDED = (".woff2", ".woff", ".ttf", ".otf", ".webp")
# The patterns read a text in one pass, however long: what one of them has passed is not read again.
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_IMPORT = re.compile(r"@import\b[^;]*", re.IGNORECASE)
_URL = re.compile(r"""url\(\s*+("[^"\n]*+"|'[^'\n]*+'|[^\s"'()]++)\s*+\)""", re.IGNORECASE)
_DECLARATION = re.compile(r"(?<![\w-])[\w-]++\s*+:([^;{}]*+)({?)")
_TEXT = re.compile(r"""url\([^()]*\)|"[^"]*"|'[^']*'""", re.IGNORECASE)
_DIGITS = r"(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})"
_COLOUR = re.compile(rf"#(?!{_DIGITS}(?![\w-]))[\w-]*", re.IGNORECASE)
_TYPST_COLOUR = re.compile(rf"""rgb\("(?!#?{_DIGITS}")[^"]*"\)""", re.IGNORECASE)
_NO_COLOUR = "{} is no colour: write 3, 4, 6 or 8 digits 0-9 a-f, as in #0b5c7a"


def file_fault(key: str, path: Path | None, ending: str, check: Callable[[Path], object]) -> str | None:
    """Return why a file that the settings name cannot be used; None if it can, or if they name none."""
    if path is None:
        return None
    if path.suffix != ending:
        return f"plugins.{key}: {path} does not end with {ending}"
    if not path.expanduser().is_file():
        return f"plugins.{key}: there is no file {missing_path(path)}; `./` begins a path beside the settings file"
    try:
        check(path.expanduser())
    except ConfigError as error:
        return str(error)
    return None


def report_name(context: Context, ending: str) -> str:
    """Return `report.html`; `board.html` for the section `board` with `use = "html"`."""
    name = context.name.partition("@")[0]
    return f"{'report' if name == ending else name}.{ending}"


def check_prelude(path: Path) -> None:
    """Raise `ConfigError` for a colour that Typst would refuse without its line."""
    text = _text("pdf.prelude", path)
    if wrong := _TYPST_COLOUR.search(text):
        raise _error("pdf.prelude", path, text, wrong.start(), _NO_COLOUR.format(wrong[0]))


def style_sheet(path: Path) -> str:
    """Return a style sheet with the files that it names as data: a page loads nothing. Raises `ConfigError`."""
    css = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), _text("html.css", path))
    error = partial(_error, "html.css", path, css)

    def data(match: re.Match[str]) -> str:
        name = match[1].strip("\"'")
        if name.startswith(("data:", "#")):
            return match[0]
        try:
            file = (path.parent / name).resolve()
            content = read_limited(file, _LARGEST)
        except (OSError, RuntimeError) as reason:
            why = getattr(reason, "strerror", None) or reason
            what = f"{name} cannot be read: {why}; name a file relative to the style sheet"
            raise error(match.start(), what) from None
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        if not kind.startswith("image/") and file.suffix not in _EMBEDDED:
            raise error(match.start(), f"{name} is no picture or font")
        return f'url("data:{kind};base64,{b64encode(content).decode()}")'

    if match := _IMPORT.search(css):
        raise error(match.start(), f"{match[0]} would load a file: write its rules into the style sheet")
    for declaration in _DECLARATION.finditer(css):
        if not declaration[2] and (wrong := _COLOUR.search(_TEXT.sub("", declaration[1]))):
            raise error(declaration.start(), _NO_COLOUR.format(wrong[0]))
    return _URL.sub(data, css).replace("</", "<\\/")


def _text(key: str, path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as reason:
        raise ConfigError(f"plugins.{key}: {path} cannot be read: {reason}") from None


def _error(key: str, path: Path, text: str, at: int, what: str) -> ConfigError:
    line = text.count("\n", 0, at) + 1
    return ConfigError(f"plugins.{key}: {path}, line {line}: {what}")
