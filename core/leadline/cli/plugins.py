"""`leadline plugins`: list and show plugins with their settings, install their packages, write and check one."""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import EntryPoint, distribution
from importlib.util import find_spec
from pathlib import Path
from string import Template
from sysconfig import get_paths
from textwrap import indent
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AnyUrl
from pydantic.fields import FieldInfo
from pydantic_core import to_jsonable_python

from leadline import __version__
from leadline._hosting.catalog import PluginCatalog
from leadline._hosting.loading import NAME, AnyOffer, Plugin, load_plugin
from leadline._settings.defaults import read_defaults
from leadline._settings.load import Loaded, plugins_of
from leadline._settings.plugin_sections import PluginSections, RequiredSettingMissing, variable_of
from leadline._settings.schema import USE, is_secret
from leadline._settings.selection import KIND_OF_KEY
from leadline.commands import client_of
from leadline.commands.output import say, table, write, write_json
from leadline.display import choose_from
from leadline.errors import ConfigError, LeadlineError, UsageError
from leadline.hookspecs import AT_ONCE, GROUP, KINDS, PluginSettings, map_stage, stage
from leadline.inventory import InstalledPlugin

_CORE = Path(__file__).parents[1]
_ITSELF = re.compile(r"leadline(\[.*\])?")
_DECORATED = re.compile(r"^@\w+\(.*\nclass (\w+)", re.MULTILINE)


def list_(args: argparse.Namespace) -> int:
    """Print all plugins."""
    if args.kind and args.kind not in KINDS:
        raise UsageError(f"no such kind: {args.kind!r}; {choose_from(args.kind, KINDS)}")
    catalog, loaded = _read(args)
    listed = plugins_of(catalog, catalog.entries(), loaded)
    listed = [plugin for plugin in listed if not args.kind or args.kind in plugin.kinds]
    if args.json:
        write_json([plugin.model_dump() for plugin in listed])
        return 0
    rows = [(plugin.name, ", ".join(plugin.kinds), _origin(plugin), plugin.status, plugin.lacks) for plugin in listed]
    write(table(rows, ("NAME", "KIND", "FROM", "STATUS", "MISSING")))
    return 0


def _read(args: argparse.Namespace) -> tuple[PluginCatalog, Loaded | None]:
    """Return the plugins, and the settings if they can be read: without them nobody knows what the plugins lack."""
    client = client_of(args)
    try:
        loaded = client.load(complete=False)
        if loaded.selector.sections.invalid:
            raise ConfigError("\n".join(loaded.problems))
    except ConfigError as error:
        say(f"leadline: cannot check what the plugins need, because the settings cannot be read:\n{error}")
        return client.catalog, None
    return loaded.catalog, loaded


def _origin(plugin: InstalledPlugin) -> str:
    return f"{plugin.distribution} {plugin.version}".strip()


def show(args: argparse.Namespace) -> int:
    """Print the offers, requirements and settings of a plugin."""
    catalog, loaded = _read(args)
    base = args.name
    if loaded and not catalog.has(base) and base not in catalog.refused:
        base = loaded.selector.sections.base(base)
    if not catalog.has(base) and base not in catalog.refused:
        raise UsageError(f"no such plugin: {args.name!r}; {choose_from(args.name, catalog.names())}")
    plugin = catalog.load(base)
    (about,) = plugins_of(catalog, [catalog.entry(plugin)], loaded, "" if base == args.name else args.name)
    offers = {
        kind: {"summary": offer.summary, **_details(offer, plugin, args.name)} for kind, offer in plugin.offers.items()
    }
    settings = {key: _setting(field) for key, field in plugin.settings.model_fields.items()}
    if args.json:
        write_json({**about.model_dump(), "offers": offers, "settings": settings})
        return 0
    instance = f"{args.name}: a second instance of " if args.name != base else ""
    write(f"{instance}{plugin.name}  ({_origin(about)}, {about.status})")
    if about.lacks:
        write(f"  {about.lacks}")
    for kind, details in offers.items():
        write(f"\n{kind}: {details.pop('summary')}")
        write(table(details.items(), indent="  "))
    if not settings:
        write("\nThis plugin has no settings.")
        return 0
    write(f"\n[plugins.{args.name}]")
    rows = [
        (key, it["type"], "(required)" if it["required"] else json.dumps(it["default"]), it["description"])
        for key, it in settings.items()
    ]
    write(table(rows, ("setting", "type", "default", ""), indent="  "))
    return 0


def _details(offer: AnyOffer, plugin: Plugin, name: str) -> dict[str, str]:
    """Return labelled details of an offer."""
    rows: dict[str, Any] = {}
    limits = ""
    if isinstance(offer, stage | map_stage):
        over, gives = ([offer.over], [offer.gives]) if isinstance(offer, map_stage) else ([], offer.gives)
        rows = {"over": over, "needs": offer.needs, "wants": offer.wants, "gives": gives, "may give": offer.may_give}
    else:
        every = f", one every {offer.limits.interval:g} s" if offer.limits.interval else ""
        timeout = f", {offer.limits.timeout:g} s each" if offer.limits.timeout else ""
        limits = f"{offer.limits.at_once or AT_ONCE} at once{every}{timeout}"
    rows |= {"tasks": offer.tasks, "tools": offer.tools}
    details = {label: ", ".join(item.name for item in items) for label, items in rows.items()}
    details |= {
        "requires": ", ".join(offer.requires),
        "environment": ", ".join(f"{variable_of(plugin, name, field)} ({field})" for field in offer.env),
        "costs": "money or tokens" if offer.priced else "",
        "limits": limits,
    }
    return {label: text for label, text in details.items() if text}


def _setting(field: FieldInfo) -> dict[str, Any]:
    default = None
    if not (required := field.is_required()):
        try:
            default = to_jsonable_python(field.get_default(call_default_factory=True), fallback=repr)
        except Exception:  # noqa: BLE001 - the factory of a plugin may raise anything
            default = "(unknown)"
    description = field.description or ""
    return {"type": _type(field.annotation), "required": required, "default": default, "description": description}


def _type(annotation: Any) -> str:
    """Return a type as people write it, without constraints."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type(inner[0])
    if origin in (Union, UnionType, Literal):
        return " | ".join(map(repr if origin is Literal else _type, inner))
    if annotation in (None, NoneType):
        return "None"
    if inner:
        return f"{_type(origin)}[{', '.join('...' if part is ... else _type(part) for part in inner)}]"
    return annotation.__name__ if isinstance(annotation, type) else re.sub(r"\w+\.", "", str(annotation))


# --- packages --------------------------------------------------------------------------------------------------------


def change(args: argparse.Namespace) -> int:
    """Install, update or remove packages by pip, or uv without pip. Raises `UsageError` if neither may change them."""
    verb, packages = "uninstall" if args.verb == "remove" else "install", args.packages
    if args.verb != "install" and any(map(_ITSELF.fullmatch, packages)):
        raise UsageError("leadline itself is no plugin; to update or remove it, use what installed it")
    if other := _other_way(verb, packages):
        raise UsageError(f"the packages of this environment cannot be changed here; instead: {other}")
    options = ["--upgrade"] if args.verb == "update" else []
    uv = shutil.which("uv")
    if find_spec("pip"):
        command = [sys.executable, "-m", "pip", verb, *options, *(["--yes"] if verb == "uninstall" else []), *packages]
    elif uv:
        command = [uv, "pip", verb, "--python", sys.executable, *options, *packages]
    else:
        raise UsageError(f"this environment has neither pip nor uv: {sys.executable} -m ensurepip installs pip")
    if code := subprocess.call(command):  # noqa: S603 - what the user asked for
        raise LeadlineError(f"{shlex.join(command)} ended with exit code {code}")
    say("Next: leadline plugins list")
    return 0


def _other_way(verb: str, packages: Sequence[str]) -> str:
    """Return how to change the packages of an environment that another tool made; empty if pip or uv may."""
    prefix, adds = Path(sys.prefix), verb == "install"
    itself, *located = (shlex.quote(_located(package)) for package in ("leadline", *packages))
    what, options = " ".join(located), "".join(f" --with {package}" for package in located)
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {itself}{options if adds else ', without --with'}"
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx {'inject' if adds else 'uninject'} leadline {what}"
    if "archive-v0" in prefix.parts or "environments-v2" in prefix.parts:  # of uvx, made anew by each call
        return f"uvx --from {itself}{options} leadline" if adds else "uvx without --with"
    site = Path(get_paths()["purelib"])
    managed = sys.prefix == sys.base_prefix and (Path(get_paths()["stdlib"]) / "EXTERNALLY-MANAGED").exists()
    if managed or not os.access(site, os.W_OK):
        why = "managed by the system" if managed else "read-only"
        return f"in an image, RUN pip {verb} {what}; else install Leadline in a venv of your own: {site} is {why}"
    return ""


def _located(package: str) -> str:
    """Return a requirement; one of Leadline itself with where it was installed from, if that was no index."""
    origin = json.loads(distribution("leadline").read_text("direct_url.json") or "{}")
    if not origin or not _ITSELF.fullmatch(package):
        return package
    repository = f"{origin['vcs_info']['vcs']}+" if "vcs_info" in origin else ""
    return f"{package} @ {repository}{origin['url']}"


# --- writing a plugin -------------------------------------------------------------------------------------------------


def new(args: argparse.Namespace) -> int:
    """Write the files and say what is next. Raises `UsageError` for a wrong kind or name, and for existing files."""
    decorators = {decorator.__name__: kind for kind, decorator in KINDS.items()} | {"map_stage": "stages"}
    kind = args.kind if args.kind in KINDS else decorators.get(args.kind, "")
    if not kind:
        raise UsageError(f"no such kind: {args.kind!r}; {choose_from(args.kind, KINDS)}")
    if not NAME.fullmatch(args.name):
        raise UsageError(f"{args.name!r} is no name for a plugin: use small letters, digits and _, a letter first")
    module, text, test = example(kind, args.name)
    section = f"[plugins.{args.name}]\n" + ("" if args.project else f'use = "./{args.name}.py"\n') + _required(text)
    choose = _choice(kind, args.name, section if section.count("\n") > 1 else "")
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
    settings = "|".join(re.findall(r"^class (\w+)\(PluginSettings\)", text, re.MULTILINE)) or "(?!)"

    def renamed(source: str) -> str:
        source = source.replace(module, new).replace(f"{old.upper()}_", f"{name.upper()}_")
        source = re.sub(rf"\b(?:{settings})\b", f"{camel}Settings", source)
        return re.sub(rf"\b(Test)?(?:{classes})\b", rf"\g<1>{camel}", source)

    return new, renamed(text), renamed((folder / f"test_{old}.py").read_text("utf-8"))


def _required(text: str) -> str:
    """Return the required settings of an example as TOML, and the variable of each secret as a comment."""
    lines = []
    model = re.search(r"^class \w+\(PluginSettings\):\n((?:    .*\n)+)", text, re.MULTILINE)
    for name, kind in re.findall(r"^    (\w+): (\w+)$", model[1] if model else "", re.MULTILINE):
        variable = re.search(rf'"{name}": "(\w+)"', text)
        lines.append(f"# {name}: in the variable {variable[1]}\n" if variable else f'{name} = "…"  # {kind}\n')
    return "".join(lines)


def _examples() -> Path:
    """Return the folder of examples: data of the wheel, or of the source tree."""
    return _CORE / "examples" if (_CORE / "examples").is_dir() else _CORE.parents[1] / "examples"


def _choice(kind: str, name: str, section: str) -> str:
    """Return the settings that choose a plugin beside those of the defaults, as TOML."""
    defaults = read_defaults(PluginCatalog.discover().defaults)
    key = next((key for key, of in KIND_OF_KEY.items() if of == kind), "")
    if not key:  # a stage, before the last of the usual ones
        usual = defaults.value("pipeline")
        last = defaults.value(f"pipelines.{usual}.stages")[-1]
        chosen = f'[pipelines.mine]\nextends = "{usual}"\nbefore = {{ {last} = ["{name}"] }}\n'
        return f'pipeline = "mine"\n\n{chosen}\n{section}'
    table, _, last = key.rpartition(".")
    value = json.dumps(name)
    if key.endswith("s") or key == "middleware":
        others = [other for other in defaults.value(key) or () if other != "auto"]
        # Of parsers, fetchers and judges, the first that can do it does it.
        value = json.dumps([name, *others] if table in ("read", "verify") else [*others, name])
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


# --- checking one -----------------------------------------------------------------------------------------------------


def check(args: argparse.Namespace) -> int:
    """Run the tests by pytest; 0 if all pass. Raises `LeadlineError` without pytest, `ConfigError` for settings."""
    if lacking := [name for name in ("pytest", "pytest_asyncio") if find_spec(name) is None]:
        install = " ".join(name.replace("_", "-") for name in lacking)
        raise LeadlineError(f"plugins check needs pytest, which Leadline does not install: pip install {install}")
    # By name: the kit imports the command line, for the contract of commands.
    check = import_module("leadline.testing.check").check
    loaded = client_of(args).load(complete=False)
    file = Path(args.name) if args.name.endswith(".py") else None
    if file and not file.is_file():
        raise UsageError(f"there is no file {file}; leadline plugins new KIND NAME writes one")
    name = args.name
    if file:
        files = {name: loaded.catalog.file(name) for name in loaded.catalog.names()}
        named = [name for name, own in files.items() if own and own.resolve() == file.resolve()]
        name = named[0] if named else file.stem
        if not named:
            loaded = client_of(args, set=[f'plugins.{name}.use="{file.resolve()}"']).load(complete=False)
    base = loaded.selector.sections.base(name)
    if loaded.untrusted and not loaded.catalog.has(base):  # its file may be among what needs consent
        raise loaded.untrusted
    plugin = loaded.catalog.load(base)
    settings = _settings_of(plugin, name, loaded.selector.sections, live=args.live)
    if plugin.file:  # by its own name, under which every process can import it
        same_name = sys.modules.get(plugin.file.stem)
        if same_name and getattr(same_name, "__file__", "") != str(plugin.file.absolute()):
            raise UsageError(f"{plugin.file.name} is also the name of another module: rename the file, to check it")
        sys.path.insert(0, str(plugin.file.parent.absolute()))
        plugin = load_plugin(EntryPoint(base, plugin.file.stem, GROUP))
        settings = plugin.settings(**settings.model_dump(exclude_unset=True, exclude={USE}))
    code: int = check(plugin, settings, live=args.live)
    return code


def _settings_of(plugin: Plugin, name: str, sections: PluginSections, *, live: bool) -> PluginSettings:
    """Return the settings of a plugin, with a test value for each required one that is missing, but for real calls."""
    values = dict[str, str]()
    while True:
        try:
            return sections.read(name, plugin, otherwise=values)
        except RequiredSettingMissing as error:
            key = error.key.rpartition(".")[2]
            if live or key in values or not (value := _stand_in(plugin.settings.model_fields[key].annotation)):
                raise UsageError(f"{error}; or here: --set {error.key}=…") from None
            values[key] = value


def _stand_in(annotation: Any) -> str:
    """Return a test value for a setting that is a text, an address or a secret; empty for others."""
    if is_secret(annotation):
        return "leadline-test-key-of-32-letters!"
    is_text = isinstance(annotation, type) and (annotation is str or issubclass(annotation, AnyUrl))
    return "https://service.example" if is_text or "Url" in str(annotation) else ""
