"""Jinja templates of users, for prompts and reports: rendered in Jinja's sandbox, with unknown names as errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from leadline.errors import ConfigError

# The ending of a file that is a Jinja template.
SUFFIX = ".j2"
_ESCAPED = (".html", ".htm", ".xml", ".xhtml")
_MISSING = "templates need Jinja: leadline plugins install 'leadline[templates]'"


def render_file(path: Path, data: Mapping[str, Any], filters: Mapping[str, Callable[..., Any]] | None = None) -> str:
    """Return a template filled with data; it may include files of its folder. Raises `ConfigError` with the line.

    The values of a template for HTML or XML (`letter.html.j2`) are escaped.
    """
    try:
        from jinja2 import FileSystemLoader, StrictUndefined, TemplateError, TemplateSyntaxError
        from jinja2.sandbox import SandboxedEnvironment
    except ImportError as error:
        raise ConfigError(_MISSING) from error
    environment = SandboxedEnvironment(
        loader=FileSystemLoader(path.parent),
        undefined=StrictUndefined,
        autoescape=path.name.removesuffix(SUFFIX).endswith(_ESCAPED),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(filters or {})
    try:
        return environment.get_template(path.name).render(data)
    except TemplateSyntaxError as error:
        raise ConfigError(f"{path}, line {error.lineno}: {error.message}") from error
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise ConfigError(f"{path}: {error or type(error).__name__}") from error
