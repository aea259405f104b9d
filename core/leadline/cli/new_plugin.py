"""`leadline plugins new`: write a plugin of a kind, from the example of its documentation, as a file or a project."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path
from string import Template
from textwrap import indent

from leadline import __version__
from leadline._hosting.loading import NAME
from leadline._settings.selection import KIND_OF_KEY
from leadline.commands.output import write
from leadline.display import choose_from
from leadline.errors import LeadlineError, UsageError
from leadline.hookspecs import GROUP, KINDS

_CORE = Path(__file__).parents[1]
_DECORATED = re.compile(r"^@\w+\(.*\nclass (\w+)", re.MULTILINE)


def run(args: argparse.Namespace) -> int:
    """Write the files and say what is next. Raises `UsageError` for a wrong kind or name, and for existing files."""
    kind = args.kind if args.kind in KINDS else next((kind for kind in KINDS if KINDS[kind].__name__ == args.kind), "")
    if not kind:
        raise UsageError(f"no such kind: {args.kind!r}; {choose_from(args.kind, KINDS)}")
    if not NAME.fullmatch(args.name):
        raise UsageError(f"{args.name!r} is no name for a plugin: use small letters, digits and _, a letter first")
    module, text, test = example(kind, args.name)
    choose = _settings(kind, args.name, "" if args.project else f'[plugins.{args.name}]\nuse = "./{args.name}.py"\n')
    if args.project:
        major, minor, *_ = __version__.split(".")
        about = {
            "name": args.name,
            "module": module,
            "distribution": module.replace("_", "-"),
            "summary": args.name.replace("_", " ").capitalize(),
            "version": f"{major}.{minor}",
            "next": f"{int(major) + 1}",
            "group": GROUP,
            "choose": indent(choose.strip(), "    "),
        }
        folder = Path(about["distribution"])
        names = {"pyproject": "pyproject.toml", "readme": "README.md", "ci": ".github/workflows/test.yml"}
        files = {
            folder / path: Template((_examples() / f"project/{name}.txt").read_text("utf-8")).substitute(about)
            for name, path in names.items()
        }
        files |= {folder / f"{module}.py": text, folder / f"tests/test_{args.name}.py": test}
        after = f"  cd {folder} && pip install --editable . --group dev && pytest"
    else:
        files, after = {Path(f"{args.name}.py"): text}, f"  leadline plugins check {args.name}.py"
    _write(files)
    write(f"Wrote {', '.join(map(str, files))}. Change the example, then:\n{after}")
    write(f"To use it, in leadline.toml:\n\n{choose.strip()}")
    return 0


def example(kind: str, name: str) -> tuple[str, str, str]:
    """Return the module of a plugin of a kind under another name, its text, and that of its contract test."""
    folder = _examples() / ("plugin" if kind == "search_providers" else f"kinds/{kind}")
    project = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["project"]
    old, module = max(project["entry-points"][GROUP].items())
    text = (folder / f"{module}.py").read_text("utf-8")
    for sibling in re.findall(r"^from (leadline_\w+) import .*\n\n?", text, re.MULTILINE):  # into the same file
        text = re.sub(rf"^from {sibling} import .*\n\n?", "", text, flags=re.MULTILINE)
        text = f"{(folder / f'{sibling}.py').read_text('utf-8')}\n\n{text}"
    new, camel = f"leadline_{name}", "".join(part.capitalize() for part in name.split("_"))
    classes = "|".join(_DECORATED.findall(text))
    settings = "|".join(re.findall(r"^class (\w+)\(PluginSettings\)", text, re.MULTILINE)) or "-"

    def renamed(source: str) -> str:
        source = source.replace(module, new).replace(f"{old.upper()}_", f"{name.upper()}_")
        source = re.sub(rf"\b(?:{settings})\b", f"{camel}Settings", source)
        return re.sub(rf"\b(Test)?(?:{classes})\b", rf"\g<1>{camel}", source)

    return new, renamed(text), renamed((folder / f"test_{old}.py").read_text("utf-8"))


def _examples() -> Path:
    """Return the folder of examples: data of the wheel, or of the source tree."""
    return _CORE / "examples" if (_CORE / "examples").is_dir() else _CORE.parents[1] / "examples"


def _settings(kind: str, name: str, section: str) -> str:
    """Return the settings that choose a plugin, as TOML."""
    key = next((key for key, of in KIND_OF_KEY.items() if of == kind), "pipelines.mine.stages")
    table, _, last = key.rpartition(".")
    several = key.endswith("s") or key == "middleware"
    value = f'["{name}"]' if several else f'"{name}"'
    return f"{section}\n[{table}]\n{last} = {value}\n" if table else f"{last} = {value}\n\n{section}"


def _write(files: dict[Path, str]) -> None:
    if taken := [path for path in files if path.exists()]:
        raise UsageError(f"{taken[0]} exists; choose another name, or move it away")
    try:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise LeadlineError(f"cannot write {path}: {error.strerror or error}") from error
