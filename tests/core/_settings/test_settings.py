"""Settings come from every source in their order, each value with its origin; plugins are chosen and drop out."""

from __future__ import annotations

import os
import re
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, SecretStr, ValidationError, field_validator
from tests.settings_from import load_settings

from leadline import hookspecs
from leadline._hosting.catalog import PluginCatalog
from leadline._runtime.plugins import default_cache
from leadline._settings.load import Loaded
from leadline._settings.pipelines import resolve, stage_names
from leadline._settings.redaction import answer_options, public
from leadline.errors import ConfigError, UsageError
from leadline.hookspecs import KINDS
from leadline.plugin import PluginSettings, search_provider
from leadline.records import Record
from leadline.tasks import TaskKind
from leadline.testing.plugins import plugin

NOWHERE = Path("/nonexistent")
DEFAULTS = load_settings(PluginCatalog.discover(), cwd=NOWHERE, environ={}, user_file=NOWHERE, complete=False).settings
STAGES = (*stage_names(resolve(DEFAULTS.pipelines, "research")), "letter_style")
Load = Callable[..., Loaded]


class Local(PluginSettings):
    folders: list[str]
    chunk: int = Field(400, description="Characters of a passage.")
    skip: frozenset[str] = frozenset()


class Fragile(PluginSettings):
    port: int = 1

    @field_validator("port")
    @classmethod
    def _known(cls, port: int) -> int:
        return {1: 1}[port]


class Key(PluginSettings):
    api_key: SecretStr
    max_results: int = 10
    headers: dict[str, SecretStr] = {}
    depth: str = "basic"


class Clarify(PluginSettings):
    mode: Literal["ask", "assume", "off"] = "assume"


class Gate(BaseModel):
    path: str = ""
    key: SecretStr = SecretStr("")


class Chatty(PluginSettings):
    model: str = ""
    gates: dict[str, Gate] = {}
    base_url: str = ""
    api_key: SecretStr = SecretStr("")


def offer(kind: str, settings: Any = PluginSettings, **more: Any) -> Any:
    return KINDS[kind]("x", settings=settings, **more)(lambda: object())


def missing(settings: Local) -> str | None:
    return "no such folder: nowhere" if "nowhere" in settings.folders else None


def points() -> list[Any]:
    task = TaskKind("write", Record, Record)
    uses = {"search": ("search.engines",), "export": ("report.formats",)}

    def stage(name: str) -> Any:
        made: Any = object()
        settings = Clarify if name == "clarify" else PluginSettings
        return hookspecs.stage("x", settings=settings, ends_loop=True, uses=(task, *uses.get(name, ())))(lambda: made)

    by_kind = {
        "ai_providers": ["embedded", "gateway"],
        "search_strategies": ["batch", "race"],
        "synthesizers": ["brief", "prose"],
        "report_formatters": list(DEFAULTS.report.formats),
        "claim_judges": list(DEFAULTS.verify.judges),
        "observers": ["jsonl"],
        "fetchers": [name for name in DEFAULTS.read.fetchers if name != "local"],
        "parsers": list(DEFAULTS.read.parsers),
    }
    return [
        *(plugin(name, stage(name)) for name in STAGES),
        *(
            plugin(name, *(offer(kind) for kind, names in by_kind.items() if name in names))
            for name in sorted({name for names in by_kind.values() for name in names})
        ),
        plugin("local", offer("search_providers", Local, ready=missing), offer("fetchers", Local)),
        plugin("tavily", offer("search_providers", Key, env={"api_key": "TAVILY_API_KEY"})),
        plugin("chatty", offer("ai_providers", Chatty)),
        plugin("free", offer("search_providers")),
        plugin("sketch", offer("chart_runners", uses=("code.sandbox",))),
        plugin("jail", offer("sandboxes")),
        plugin("fragile", offer("embedders", Fragile)),
        plugin("vendor", offer("search_providers", requires=("no_such_sdk=leadline[vendor]",))),
        plugin("asleep", offer("search_providers", ready=lambda settings: "no server answers at port 8080")),
        plugin("faulty", offer("search_providers", ready=lambda settings: str(1 // 0))),
        plugin("nothing", offer("search_providers", dict)),
    ]


@pytest.fixture(scope="module")
def host() -> PluginCatalog:
    return PluginCatalog.discover(points())


@pytest.fixture
def load(host: PluginCatalog, tmp_path: Path) -> Load:
    """Load settings in an empty folder, with documents to search."""

    def load(*sets: str, environ: Mapping[str, str] | None = None, **more: Any) -> Loaded:
        arguments = {"plugins.local.folders": ["docs"], **more.pop("arguments", {})}
        more.setdefault("user_file", tmp_path / "none.toml")
        return load_settings(host, sets=sets, environ=environ or {}, cwd=tmp_path, arguments=arguments, **more)

    return load


def fault(load: Load, *sets: str, **more: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        load(*sets, **more)
    return str(caught.value)


# --- sources and their order ---------------------------------------------------------------------------------------


def test_documents_that_a_client_was_given_are_what_their_engine_needs(tmp_path: Path) -> None:
    catalog = PluginCatalog.discover()
    local = catalog.load("local")
    selector = load_settings(catalog, complete=False).selector
    assert selector.why_not(local).startswith("no folder is set: plugins.local.folders")
    (tmp_path / "note.md").touch()
    assert load_settings(catalog, docs=[str(tmp_path)]).selector.why_not(local) == ""


def test_the_defaults_are_enough(load: Load) -> None:
    loaded = load()
    assert loaded.chosen["ai.providers"] == ("embedded",)
    assert loaded.chosen["search.engines"] == ("local",)
    assert loaded.chosen["pipeline"] == STAGES[:-1]
    assert loaded.settings.plugin("local") == Local(folders=["docs"])
    assert loaded.choices == (
        "ai.providers: embedded (no language model is set up; the report will be a brief of quoted passages)",
        "search.engines: local (chosen by auto)",
    )
    assert loaded.notices == ()
    assert loaded.origins["search.strategy"] == "default"
    assert loaded.origins["plugins.local.folders"] == "argument"


def test_the_stronger_source_wins(load: Load, tmp_path: Path) -> None:
    user = tmp_path / "user.toml"
    user.write_text("[budget]\ntokens = 1\n")
    steps: list[tuple[Loaded, int, str]] = [(load(user_file=user), 1, "user.toml:2")]
    (tmp_path / "leadline.toml").write_text("# mine\n\n[budget]\ntokens = 2\n")
    (tmp_path / ".env").write_text("LEADLINE_BUDGET__TOKENS=3\nOTHER=x\n")
    environ = {"LEADLINE_BUDGET__TOKENS": "4", "PATH": "/bin"}
    steps += [
        (load("budget.tokens=5", environ=environ, arguments={"budget.tokens": 6}), 6, "argument"),
        (load("budget.tokens=5", environ=environ), 5, "--set budget.tokens"),
        (load(environ=environ), 4, "environment LEADLINE_BUDGET__TOKENS"),
        (load(user_file=user), 3, ".env LEADLINE_BUDGET__TOKENS"),
    ]
    (tmp_path / ".env").unlink()
    steps.append((load(user_file=user), 2, "leadline.toml:4"))
    assert [(step.settings.budget.tokens, step.origins["budget.tokens"]) for step, _, _ in steps] == [
        (tokens, origin) for _, tokens, origin in steps
    ]


def test_the_users_file_is_found_by_the_xdg_rules(host: PluginCatalog, tmp_path: Path) -> None:
    for folder, environ in (
        (tmp_path / "xdg", {"XDG_CONFIG_HOME": str(tmp_path / "xdg"), "HOME": "/nowhere"}),
        (tmp_path / "home" / ".config", {"HOME": str(tmp_path / "home")}),
    ):
        (folder / "leadline").mkdir(parents=True)
        (folder / "leadline" / "leadline.toml").write_text("[plugins.local]\nfolders = ['mine']\n")
        loaded = load_settings(host, cwd=tmp_path, environ=environ)
        assert loaded.settings.plugin("local").folders == ["mine"]


def test_another_file_stands_in_place_of_the_folders(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text("language = 'de'")
    (tmp_path / "other.toml").write_text("[budget]\ntokens = 7")
    (tmp_path / "other.yaml").write_text(
        "budget: {tokens: 8}\nclarify: {mode: off}\nverify:\n  require_support: true\n"
    )
    assert load(file=Path("other.toml")).settings.language == "auto"
    assert load(file=Path("other.toml")).settings.budget.tokens == 7
    (tmp_path / ".env").write_text("LEADLINE_SETTINGS=other.toml\n")
    assert load().settings.budget.tokens == 7
    by_variable = load(environ={"LEADLINE_SETTINGS": str(tmp_path / "other.yaml")})
    assert by_variable.settings.budget.tokens == 8
    assert by_variable.settings.plugin("clarify").mode == "off"
    assert by_variable.settings.verify.require_support is True
    assert by_variable.origins["budget.tokens"] == "other.yaml:1"
    assert fault(load, file=Path("no.toml")) == (
        "no.toml: there is no such settings file; `leadline config init` writes one"
    )


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("a.toml", b"[search\n", "a.toml is not valid TOML: "),
        ("a.yaml", b"a: [1\n", "a.yaml is not valid YAML: "),
        ("a.yaml", b"- 1\n", "a.yaml must be a table of settings, not list"),
        ("a.toml", b"\xff\xfe0", "a.toml cannot be read: it is not UTF-16: save the file as UTF-8"),
        ("a.toml", b"# caf\xe9\n", "a.toml cannot be read: it is not UTF-8: save the file as UTF-8"),
        ("a.yaml", b"ai:\n  t: 1\n  t: 2\n", "a.yaml: ai.t is set twice, in lines 2 and 3: remove one"),
        ("a.yaml", b"report: {length: 1, length: 2}\n", "a.yaml: report.length is set twice, in lines 1 and 1"),
    ],
)
def test_a_file_that_is_none_is_named(load: Load, tmp_path: Path, name: str, content: bytes, text: str) -> None:
    (tmp_path / name).write_bytes(content)
    assert text in fault(load, file=Path(name))


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-16-le"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("leadline.toml", "[report]\r\nlength = 321\r\n"),
        ("leadline.yaml", "report:\r\n  length: 321\r\n"),
        (".env", "LEADLINE_REPORT__LENGTH=321\r\n"),
    ],
)
def test_files_saved_by_editors_of_windows_are_read(
    load: Load, tmp_path: Path, encoding: str, name: str, text: str
) -> None:
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / name).write_bytes((mark + text).encode(encoding))
    assert load().settings.report.length == 321


def test_a_dotenv_file_that_cannot_be_read_is_named(load: Load, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"A=\xff\xfe")
    assert fault(load).startswith(f"{tmp_path / '.env'} cannot be read: ")


def test_a_secret_in_dotenv_is_taken_as_it_stands(load: Load, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("HOME_OF=x\nTAVILY_API_KEY='a${HOME_OF}b'\n")
    assert load("search.engines=tavily").secrets == ("a${HOME_OF}b",)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{p: *a{n - 1}, q: *a{n - 1}}}\n" for n in range(1, 60))),
        ("a.yaml", "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))),
        ("a.yaml", "report: &it\n  title: *it\n"),
        ("a.yaml", "a: " + "[" * 5_000 + "]" * 5_000),
        ("a.yaml", "a: " + "9" * 5_000),
        ("a.toml", "a = " + "[" * 5_000 + "]" * 5_000),
        ("a.toml", "a = " + "9" * 5_000),
        ("a.toml", f"[{'a.' * 3_000}a]\nb = 1"),
        ("a.toml", "[" + " " * 200_000 + "x\n"),
        ("a.toml", "a = 1\n" * 40_000),
        ("a.toml", "# " + "x" * 300_000),
    ],
)
def test_a_settings_file_that_grows_when_it_is_read_is_refused_at_once(
    load: Load, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    began = time.process_time()
    with pytest.raises(ConfigError, match=name):
        load(file=Path(name))
    assert time.process_time() - began < 5


def test_a_settings_file_is_a_file(load: Load, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "leadline.toml")
    with pytest.raises(ConfigError, match="no regular file"):
        load()
    (tmp_path / "leadline.toml").unlink()
    (tmp_path / "leadline.toml").symlink_to("/dev/zero")
    with pytest.raises(ConfigError, match="no regular file"):
        load()


def test_yaml_in_the_working_folder_is_read_or_told(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.yaml").write_text("report:\n  length: 300\n")
    assert load().origins["report.length"] == "leadline.yaml:2"
    assert load().notices == ()
    (tmp_path / "leadline.toml").write_text("[report]\nlength = 200\n")
    loaded = load()
    assert loaded.settings.report.length == 200
    assert loaded.notices == (
        "leadline.yaml is not read, since leadline.toml exists: keep one of them, or name one with --settings",
    )
    assert load(file=Path("leadline.yaml")).notices == ()


def test_true_is_no_number(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text("[budget]\nmoney = true\ntokens = false\n[plugins.local]\nchunk = true\n")
    told = fault(load)
    assert "budget.money: input should be a number, got True (leadline.toml:2)" in told
    assert "budget.tokens: input should be a number, got False (leadline.toml:3)" in told
    (tmp_path / "leadline.toml").write_text("[plugins.local]\nchunk = true\n")
    assert "plugins.local.chunk: input should be a number, got True (leadline.toml:2)" in fault(load)


def test_an_empty_yaml_file_sets_nothing(load: Load, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("# nothing yet\n")
    assert public(load(file=Path("a.yaml")).settings) == public(load().settings)


def test_arguments_may_be_nested_and_not_given(load: Load) -> None:
    loaded = load(arguments={"report": {"formats": ["json"], "length": 200}, "language": None})
    assert loaded.settings.report.formats == ("json",)
    assert loaded.settings.language == "auto"


@pytest.mark.parametrize(
    ("engines", "first"),
    [
        ("tavily", ("local", "tavily")),
        ("tavily,local", ("local", "tavily")),
        ("tavily,auto", ("local", "tavily")),
        ("auto", ("local", "tavily")),
        ("", ("local",)),
    ],
)
def test_documents_that_are_named_are_searched_first(load: Load, engines: str, first: tuple[str, ...]) -> None:
    sets = [f"search.engines={engines}", "read.fetchers=web", "plugins.tavily.api_key=tvly-a-key"]
    loaded = load(*sets, docs=["docs"])
    assert loaded.chosen["search.engines"] == first
    assert loaded.chosen["read.fetchers"] == ("local", "web")
    again = load(stored=public(loaded.settings), environ={"TAVILY_API_KEY": "tvly-a-key"})
    assert again.chosen["search.engines"] == first, "a run that is resumed needs them named no more"
    assert load("search.engines=tavily", *sets[1:]).chosen["search.engines"] == ("tavily",)


def test_text_becomes_what_the_field_expects(load: Load) -> None:
    loaded = load(
        "search.engines=local, tavily",
        "read.parsers=['text', \"html\"]",
        "verify.require_support=yes",
        "budget.money=0.5",
        "report.title=[Draft] {1, 2}",
        "ai.roles={thinking = 'gateway:big'}",
        "ai.tasks.write=gateway:small",
        "limits={local = {at_once = 2}}",
        "plugins.tavily.headers={x = 'abc'}",
        environ={"LEADLINE_PLUGINS__TAVILY__API_KEY": '{"type": "service_account", "private": "[x]"}'},
        arguments={"plugins.local.skip": "b,a"},
    )
    settings = loaded.settings
    assert settings.search.engines == ("local", "tavily")
    assert settings.read.parsers == ("text", "html")
    assert settings.verify.require_support is True
    assert settings.budget.money == 0.5
    assert settings.report.title == "[Draft] {1, 2}"
    assert settings.ai.roles == {"thinking": "gateway:big"}
    assert settings.limits["local"].at_once == 2
    assert settings.plugin("tavily").api_key.get_secret_value().startswith('{"type"')
    assert settings.plugin("local").skip == {"a", "b"}
    assert loaded.chosen["ai.tasks.write"] == ("gateway",)
    assert set(loaded.secrets) == {'{"type": "service_account", "private": "[x]"}', "abc"}


def test_stored_settings_stand_but_for_arguments_and_secrets(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text(
        "[search]\nengines = ['archive', 'tavily']\n[plugins.archive]\nuse = 'local'\nfolders = ['old']\n"
    )
    environ = {"TAVILY_API_KEY": "sekrit-sekrit"}
    first = load("budget.tokens=7", environ=environ)
    stored = public(first.settings)
    assert "sekrit" not in str(stored)
    (tmp_path / "leadline.toml").write_text("[budget]\nseconds = 1\n[limits.local]\nat_once = 1\n")
    again = load("report.length=9", environ={**environ, "LEADLINE_BUDGET__TOKENS": "8"}, stored=stored)
    assert public(again.settings) == {**stored, "report": {**stored["report"], "length": 9}}
    assert again.plugins["archive"].name == "local"
    assert again.origins["budget.tokens"] == "the run's own settings"
    assert again.secrets == ("sekrit-sekrit",)


def test_what_the_sources_say_otherwise_than_a_run_is_told(load: Load, tmp_path: Path) -> None:
    file = tmp_path / "leadline.toml"
    file.write_text("[search]\nengines = ['local']\n[budget]\nseconds = 60\n[plugins.local]\nchunk = 300\n")
    stored = public(load().settings)
    assert load(stored=stored).notices == (), "nothing was changed"
    gates = "[ai]\nproviders = ['chatty']\n[plugins.chatty.gates.a]\npath = 'x'\nkey = 'sekrit-sekrit'\n"
    (tmp_path / "gates.toml").write_text(gates)
    with_gates = public(load(file=tmp_path / "gates.toml").settings)
    assert load(stored=with_gates, file=tmp_path / "gates.toml").notices == (), "what was never kept does not differ"
    file.write_text(
        "[search]\nengines = 'local'\n[budget]\nseconds = 60.0\ntokens = 9\n"
        "[plugins.local]\nchunk = 400\nskip = 'a, b'\n"
    )
    keys = (
        "budget.tokens (leadline.toml:5), plugins.local.chunk (leadline.toml:7), plugins.local.skip (leadline.toml:8)"
    )
    told = f"the run keeps its own settings, which differ now: {keys}; to use a new value, --set KEY=VALUE"
    assert load(stored=stored).notices == (told,)
    assert load(stored=stored, offline=True).notices == (), "nobody is asked"
    again = load("plugins.local.chunk=400", "plugins.local.skip=a", "budget.tokens=8", stored=stored)
    assert (again.notices, again.settings.plugin("local").chunk) == ((), 400)


def test_a_key_is_not_sent_to_the_address_of_then(load: Load, tmp_path: Path) -> None:
    file, key = tmp_path / "leadline.toml", "api_key = 'sekrit-sekrit'\n"
    begin = "[ai]\nproviders = ['chatty']\n[plugins.chatty]\n"
    file.write_text(f"{begin}base_url = 'https://a.example/v1'\nmodel = 'a'\n{key}")
    stored = public(load().settings)
    file.write_text(f"{begin}base_url = 'https://b.example/v1'\nmodel = 'b'\n{key}")
    with pytest.raises(ConfigError) as raised:
        load(stored=stored)
    told = str(raised.value)
    assert 'plugins.chatty.base_url = "https://a.example/v1" (an address)' in told
    assert "today's settings have https://b.example/v1 (leadline.toml:4)" in told
    assert "add --set plugins.chatty.base_url=…" in told
    assert "sekrit" not in told
    assert load(stored=stored, offline=True).notices == (), "no key is sent anywhere"
    again = load("plugins.chatty.base_url=https://b.example/v1", stored=stored)
    assert again.settings.plugin("chatty").model == "a"
    assert "plugins.chatty.model (leadline.toml:5)" in again.notices[0]


def test_a_user_without_a_home_has_no_file_of_settings(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", fail)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert load(environ={}, user_file=None).problems == ()
    assert default_cache() == Path("/dev/null/.cache/leadline")


# --- what is chosen, and what drops out ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("tavily", "plugins.tavily.api_key is not set: set TAVILY_API_KEY, or plugins.tavily.api_key in leadline.toml"),
        ("asleep", "no server answers at port 8080"),
    ],
)
def test_an_engine_that_the_settings_name_and_that_cannot_work_is_refused(load: Load, name: str, reason: str) -> None:
    told = f"search.engines: {name} cannot work: {reason}; or leave it out of search.engines (--set search.engines)"
    assert fault(load, f"search.engines={name},local") == told


@pytest.mark.parametrize("value", ["", "''"])
def test_an_empty_required_setting_is_not_set(load: Load, tmp_path: Path, value: str) -> None:
    (tmp_path / "leadline.toml").write_text("[plugins.tavily]\napi_key = ''\n" if value else "")
    assert "plugins.tavily.api_key is not set" in fault(load, "search.engines=tavily,local")


def test_an_empty_variable_is_not_set(load: Load, tmp_path: Path) -> None:
    empty = {
        "LEADLINE_AI__PROVIDERS": "",
        "LEADLINE_REPORT__TITLE": "",
        "LEADLINE_OBSERVERS": "",
        "LEADLINE_NOTHING": "",
    }
    (tmp_path / "leadline.toml").write_text("[report]\ntitle = 'Ours'\n")
    (tmp_path / ".env").write_text("LEADLINE_PLUGINS__TAVILY__API_KEY=\n")
    loaded = load("search.engines=tavily", environ={**empty, "TAVILY_API_KEY": "from-convention"})
    assert loaded.origins["ai.providers"] == loaded.origins["observers"] == "default"
    assert loaded.settings.report.title == "Ours"
    assert loaded.secrets == ("from-convention",)
    assert load(environ={"LEADLINE_MIDDLEWARE": "[]"}).origins["middleware"] == "environment LEADLINE_MIDDLEWARE"


@pytest.mark.parametrize(
    ("key", "choices", "example"),
    [
        ("ai.providers", "auto, chatty, embedded, gateway", "auto"),
        ("search.engines", "asleep, auto, ", "auto"),
        ("search.strategy", "batch, ", "batch"),
        ("read.parsers", "", "text,html,feed,pdf,word,office"),
        ("research.synthesizer", "", "prose"),
        ("report.formats", "html, json, markdown", "markdown,html,json"),
    ],
)
def test_what_a_run_cannot_do_without_is_not_empty(load: Load, key: str, choices: str, example: str) -> None:
    told = fault(load, f"{key}=")
    assert told.startswith(f"{key}: the value is empty, and a run needs one: choose from: {choices}")
    assert told.endswith(f"; such as --set {key}={example} (--set {key})")


def test_what_a_chosen_plugin_uses_is_not_empty(host: PluginCatalog, load: Load) -> None:
    loaded = load("charts.runner=", "code.sandbox=")
    assert loaded.chosen["code.sandbox"] == ()
    assert fault(load, "charts.runner=sketch").startswith(
        "code.sandbox: the value is empty, and a run needs one: choose from: "
    )


def test_what_may_be_empty_is_let_be(load: Load, tmp_path: Path) -> None:
    load(*(f"{key}=" for key in ("read.fetchers", "middleware", "observers", "charts.runner")))
    (tmp_path / "leadline.toml").write_text(
        "pipeline = 'quiet'\n[search]\nengines = []\n[pipelines.quiet]\nstages = ['write']\n"
    )
    assert load().chosen["search.engines"] == ()
    assert load("report.formats=").chosen["report.formats"] == (), "nothing is exported"


def test_a_model_without_its_provider_is_told_the_form(load: Load) -> None:
    told = fault(load, 'ai.roles={thinking="good"}', "ai.providers=gateway,embedded")
    assert told.startswith("ai.roles.thinking: no plugin 'good' is installed: choose from: ")
    assert "; a model is written PROVIDER:MODEL, such as 'gateway:good'; see" in told
    assert "PROVIDER:MODEL" not in fault(load, 'ai.roles={thinking="gatewy:good"}')
    assert '; name providers alone, and models in ai.roles: ai.providers = "gateway", ai.roles = ' in fault(
        load, "ai.providers=gateway:good"
    )


def test_a_price_has_both_its_parts(load: Load) -> None:
    told = fault(load, "ai.prices={good={input=1}}")
    assert told == "ai.prices.good.output: there is no value, and no default: set input and output (--set ai.prices)"


def test_a_price_of_a_model_that_nobody_uses_is_told(load: Load) -> None:
    def notices(name: str, *sets: str) -> tuple[str, ...]:
        return load(f'ai.prices={{ "{name}" = {{input=1, output=2}} }}', "ai.providers=chatty", *sets).notices

    used = ("plugins.chatty.model=good", "ai.tasks={write='chatty:better'}")
    assert notices("goood", *used) == (
        "ai.prices.goood: no provider, role or task uses this model: did you mean 'good'? "
        "(choose from: better, good) (--set ai.prices)",
    )
    assert notices("better", *used) == ()
    told = (
        "ai.prices.chatty:new: prices have the name of the model without its provider: write 'new' (--set ai.prices)",
    )
    assert notices("chatty:new", *used) == notices("chatty:new") == told
    assert notices("goood") == (), "the provider's own default may be of that name"


def test_what_was_set_was_not_chosen_by_auto(load: Load) -> None:
    assert load("ai.providers=gateway,embedded").choices[0] == "ai.providers: gateway, embedded (--set ai.providers)"
    assert load("ai.providers=auto,gateway").choices[0] == "ai.providers: embedded, gateway (chosen by auto)"


def test_the_conventional_variable_is_the_last_to_be_asked(load: Load, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TAVILY_API_KEY=from-dotenv\n")
    environ = {"TAVILY_API_KEY": "from-environment"}
    loaded = load("search.engines=tavily", "read.fetchers=local", environ=environ)
    assert loaded.secrets == ("from-environment",)
    assert loaded.origins["plugins.tavily.api_key"] == "environment TAVILY_API_KEY"
    assert load("search.engines=tavily").origins["plugins.tavily.api_key"] == ".env TAVILY_API_KEY"
    (tmp_path / "leadline.toml").write_text("[plugins.tavily]\napi_key = 'from-file'\n")
    assert load("search.engines=tavily", environ=environ).secrets == ("from-file",)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("faulty", "plugin 'faulty' raised ZeroDivisionError in `ready`"),
        ("nothing", "plugin 'nothing' has settings <class 'dict'>: they must be a subclass of PluginSettings"),
    ],
)
def test_an_engine_that_is_broken_drops_out(load: Load, name: str, reason: str) -> None:
    loaded = load(f"search.engines={name},local")
    assert loaded.notices == (f"search.engines: {name} is left out: {reason}",)
    assert loaded.chosen["search.engines"] == ("local",)


def test_an_engine_without_its_extra_is_refused_where_settings_name_it_and_a_notice_where_only_its_key_is_set(
    load: Load, tmp_path: Path
) -> None:
    lacks = "plugin 'vendor' lacks what it needs: leadline plugins install 'leadline[vendor]'"
    with pytest.raises(ConfigError, match=re.escape(f"search.engines: vendor cannot work: {lacks}; or leave it out")):
        load("search.engines=vendor,local")
    others = [it for it in points() if it.name != "tavily"]
    keyless, env = offer("search_providers"), {"api_key": "TAVILY_API_KEY"}
    keyed = plugin("tavily", offer("search_providers", Key, env=env, requires=("no_such=x[y]",)))
    host = PluginCatalog.discover([*others, keyed, plugin("wikipedia", keyless)])
    loaded = load_settings(host, cwd=tmp_path, environ={"TAVILY_API_KEY": "k"}, user_file=tmp_path / "no")
    assert loaded.chosen["search.engines"] == ("wikipedia",)
    assert loaded.notices == (
        "search.engines: tavily is left out: plugin 'tavily' lacks what it needs: leadline plugins install 'x[y]'",
    )


def test_a_key_of_blanks_is_none(host: PluginCatalog, tmp_path: Path) -> None:
    environ = {"TAVILY_API_KEY": "  "}
    with pytest.raises(ConfigError, match="plugins.tavily.api_key is not set"):
        load_settings(host, sets=["search.engines=tavily"], cwd=tmp_path, environ=environ, user_file=tmp_path / "no")


def test_a_selection_that_ends_empty_lists_each_reason(host: PluginCatalog, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(host, sets=["search.engines=tavily,asleep"], cwd=tmp_path, environ={}, user_file=tmp_path / "no")
    assert str(caught.value) == (
        "search.engines: none of the chosen plugins can work here\n"
        "  tavily: plugins.tavily.api_key is not set: set TAVILY_API_KEY, or plugins.tavily.api_key in leadline.toml\n"
        "  asleep: no server answers at port 8080"
    )


def test_engines_may_do_without_a_fetcher_unless_one_is_asked_for(host: PluginCatalog, tmp_path: Path) -> None:
    def load(*sets: str) -> Loaded:
        return load_settings(host, sets=sets, cwd=tmp_path, environ={}, user_file=tmp_path / "no")

    usual = load("search.engines=free")
    assert (usual.chosen["read.fetchers"], usual.notices) == (("web",), ())
    assert [text[:38] for text in load("search.engines=free", "read.fetchers=web,local").notices] == [
        "read.fetchers: local is left out: plug"
    ]
    with pytest.raises(ConfigError, match=r"read\.fetchers: none of the chosen plugins can work here\n  local: "):
        load("search.engines=free", "read.fetchers=local")


def test_what_cannot_work_can_be_looked_at(host: PluginCatalog, tmp_path: Path) -> None:
    loaded = load_settings(host, cwd=tmp_path, environ={}, user_file=tmp_path / "no", complete=False)
    assert loaded.chosen["search.engines"] == ()
    assert loaded.problems == (
        "search.engines: none of the chosen plugins can work here\n"
        "  local: plugins.local.folders is not set: set LEADLINE_PLUGINS__LOCAL__FOLDERS, "
        "or plugins.local.folders in leadline.toml\n"
        "  tavily: plugins.tavily.api_key is not set: set TAVILY_API_KEY, or plugins.tavily.api_key in leadline.toml",
    )


def test_what_auto_leaves_out_is_no_notice(host: PluginCatalog, tmp_path: Path) -> None:
    sets = ["search.engines=auto,free"]
    loaded = load_settings(host, sets=sets, cwd=tmp_path, environ={}, user_file=tmp_path / "no", complete=False)
    assert loaded.chosen["search.engines"] == ("free",)
    assert loaded.notices == ()
    assert list(loaded.dropped) == ["local", "tavily"]


def test_auto_takes_the_documents_first_then_the_engines_with_keys_and_only_without_both_those_that_need_none(
    tmp_path: Path,
) -> None:
    keyless = [plugin(name, offer("search_providers")) for name in ("openalex", "wikipedia", "arxiv")]
    host, key, docs = PluginCatalog.discover([*points(), *keyless]), {"TAVILY_API_KEY": "k"}, ["docs"]

    def chosen(environ: dict[str, str], folders: list[str] | None) -> Loaded:
        arguments = {"plugins.local.folders": folders} if folders else {}
        more: dict[str, Any] = {"user_file": tmp_path / "no", "arguments": arguments, "complete": False}
        return load_settings(host, cwd=tmp_path, environ=environ, **more)

    assert chosen({}, docs).chosen["search.engines"] == ("local",)
    assert chosen(key, docs).chosen["search.engines"] == ("local", "tavily")
    assert chosen(key, None).chosen["search.engines"] == ("tavily",)
    without = chosen({}, None)
    assert without.chosen["search.engines"] == ("wikipedia", "openalex")
    assert without.problems == ()
    assert (
        "search.engines: wikipedia, openalex (no folder and no engine with a key is set up; these need none)"
    ) in without.choices


def test_a_sandbox_that_works_is_taken_and_named_although_an_earlier_one_does_not(tmp_path: Path) -> None:
    docker = plugin("docker", offer("sandboxes", ready=lambda settings: "no engine"))
    host = PluginCatalog.discover([*points(), docker, plugin("bubblewrap", offer("sandboxes"))])
    arguments = {"plugins.local.folders": ["docs"], "code.sandbox": "auto"}
    loaded = load_settings(host, cwd=tmp_path, environ={}, user_file=tmp_path / "no", arguments=arguments)
    assert loaded.chosen["code.sandbox"] == ("bubblewrap",)
    assert loaded.settings.code.sandbox == "bubblewrap"


def test_documents_that_cannot_be_read_are_never_replaced_by_the_web(tmp_path: Path) -> None:
    host = PluginCatalog.discover([*points(), plugin("wikipedia", offer("search_providers"))])
    arguments = {"plugins.local.folders": ["nowhere"]}
    with pytest.raises(ConfigError, match="local: no such folder: nowhere"):
        load_settings(host, cwd=tmp_path, environ={}, user_file=tmp_path / "no", arguments=arguments)
    environ = {"TAVILY_API_KEY": "k"}
    loaded = load_settings(host, cwd=tmp_path, environ=environ, user_file=tmp_path / "no", arguments=arguments)
    assert loaded.notices == ("search.engines: local is left out: no such folder: nowhere",)


def test_auto_with_nothing_installed_says_what_it_looked_for(tmp_path: Path) -> None:
    bare = PluginCatalog.discover([point for point in points() if point.name not in ("embedded", "local")])
    loaded = load_settings(bare, cwd=tmp_path, environ={}, user_file=tmp_path / "no", complete=False)
    assert (
        "ai.providers: none of the chosen plugins can work here\n"
        "  auto: looks for openai, embedded, and none is installed; see `leadline plugins`"
    ) in loaded.problems


def test_what_is_wanted_for_itself_is_an_error_at_once(load: Load) -> None:
    assert fault(load, "ai.tasks.write=tavily:x").startswith(
        "ai.tasks.write: plugin 'tavily' is not among the AI providers: it offers search providers; "
    )
    assert fault(load, "report.formats=markdown,htlm") == (
        "report.formats: no plugin 'htlm' is installed: did you mean 'html'? (choose from: html, json, markdown); "
        "see `leadline plugins` (--set report.formats)"
    )


def test_a_section_with_use_is_a_second_instance(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text(
        "[search]\nengines = ['local', 'archive', 'work']\n"
        "[plugins.archive]\nuse = 'local'\nfolders = ['old']\n"
        "[plugins.work]\nuse = 'tavily'\n"
    )
    loaded = load(environ={"TAVILY_API_KEY": "mine"}, complete=False)
    assert loaded.plugins["archive"] is loaded.plugins["local"]
    assert loaded.settings.plugin("archive").folders == ["old"]
    assert loaded.settings.plugin("local").folders == ["docs"]
    # The key of one service is not handed to another that speaks the same protocol.
    assert loaded.dropped["work"] == (
        "plugins.work.api_key is not set: set LEADLINE_PLUGINS__WORK__API_KEY, or plugins.work.api_key in leadline.toml"
    )


@pytest.mark.parametrize(
    ("section", "text"),
    [
        (
            "[plugins.archive]\nuse = 'loacl'",
            "plugins.archive.use: no plugin 'loacl' is installed: did you mean 'local'?",
        ),
        ("[plugins.my-own]\nuse = 'local'", "plugins.my-own: a name has lower-case letters"),
        ("[plugins.tavliy]\ndepth = 'x'", "plugins: no plugin 'tavliy' is installed: did you mean 'tavily'?"),
        ("[limits.tavliy]\nat_once = 1", "limits: no plugin 'tavliy' is installed: did you mean 'tavily'?"),
        (
            "plugins = 3",
            "plugins: this is a table, not a value: write [plugins.NAME] for each plugin",
        ),
    ],
)
def test_a_section_of_no_plugin_is_an_error(host: PluginCatalog, tmp_path: Path, section: str, text: str) -> None:
    (tmp_path / "leadline.toml").write_text(section)
    with pytest.raises(ConfigError) as caught:
        load_settings(host, cwd=tmp_path, environ={}, user_file=tmp_path / "no")
    assert text in str(caught.value)


def test_the_section_of_a_plugin_not_chosen_is_checked_but_need_not_be_complete(load: Load, tmp_path: Path) -> None:
    (tmp_path / "leadline.toml").write_text("[plugins.tavily]\nmax_results = 'many'\n")
    assert "plugins.tavily.max_results: input should be a valid integer" in fault(load, "search.engines=local")
    (tmp_path / "leadline.toml").write_text("[plugins.tavily]\nmax_results = 3\n")
    assert "tavily" not in load("search.engines=local").plugins


# --- wrong values --------------------------------------------------------------------------------------------------


def test_a_plugin_that_fails_at_its_section_is_named(load: Load) -> None:
    assert fault(load, "ai.embedder=fragile:small", "plugins.fragile.port=2") == (
        "plugins.fragile: plugin 'fragile' raised KeyError while it read its section"
    )


# --- tables of plugins, and keys of older versions -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "origin"),
    [
        ({"environ": {"LEADLINE_CLARIFY__MODE": "off"}}, "environment LEADLINE_CLARIFY__MODE"),
        ({"arguments": {"clarify": {"mode": "off"}}}, "argument"),
        ({"file": Path("own.toml")}, "own.toml:2"),
    ],
)
def test_a_plugins_table_needs_no_prefix(load: Load, tmp_path: Path, source: dict[str, Any], origin: str) -> None:
    (tmp_path / "own.toml").write_text('[clarify]\nmode = "off"\n')
    loaded = load(**source)
    assert loaded.settings.plugin("clarify").mode == "off"
    assert loaded.origins["plugins.clarify.mode"] == origin


def test_a_plugins_table_that_is_given_twice_is_an_error(load: Load, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('[clarify]\nmode = "off"\n[plugins.clarify]\nmode = "ask"\n')
    assert fault(load, file=Path("own.toml")) == (
        "clarify.mode is also given as plugins.clarify.mode: remove one of them (own.toml:2)"
    )


def test_a_value_where_a_section_stands(load: Load) -> None:
    told = fault(load, environ={"LEADLINE_SEARCH": "race", "LEADLINE_SEARCH__STRATEGY": "race"})
    assert told == (
        "search: given as a value and as a table, by environment LEADLINE_SEARCH "
        "and environment LEADLINE_SEARCH__STRATEGY: remove one of them"
    )
    told = fault(load, environ={"LEADLINE_SEARCH": "race"})
    assert told.startswith("search: this is a table, not a value: set its keys (engines, images, strategy, ")
    assert told.endswith(" (environment LEADLINE_SEARCH)")
    assert load(environ={"LEADLINE_SEARCH": "{strategy = 'race'}"}).settings.search.strategy == "race"


@pytest.mark.parametrize(
    ("environ", "text"),
    [
        ({"LEADLINE_AI__PROVIDERS": "['a"}, "ai.providers: the value is not valid TOML: "),
        ({"LEADLINE_SEARCH__": "x"}, "environment LEADLINE_SEARCH__: write LEADLINE_KEY=VALUE"),
        ({"LEADLINE_": "x"}, "environment LEADLINE_: write LEADLINE_KEY=VALUE"),
    ],
)
def test_a_variable_that_cannot_be_read(load: Load, environ: Mapping[str, str], text: str) -> None:
    assert text in fault(load, environ=environ)


@pytest.mark.parametrize("text", ["search.strategy", "=race", "search..strategy=race"])
def test_set_needs_a_key_and_a_value(load: Load, text: str) -> None:
    with pytest.raises(UsageError, match="write KEY=VALUE, such as --set"):
        load(text)


# --- secrets -------------------------------------------------------------------------------------------------------


SECRET = "tvly-0987654321abcdef"


@pytest.mark.parametrize(
    "section",
    [
        "plugins.tavily.api_key = 123",
        f"plugins.tavily.api_key = ['{SECRET}']",
        f"plugins.tavily = '{SECRET}'",
        "plugins.tavily = 3",
        f"plugins.tavily.headers = '{SECRET}'",
        f"plugins.tavily.headers.x = ['{SECRET}']",
        f"plugins.tavily.api_kye = '{SECRET}'",
        f"plugins.tavily.api_key = '{SECRET}'\nplugins.tavily.max_results = '{SECRET}'",
        f"plugins.tavily.api_key = '{SECRET}'\nplugins.tavily.depth = 3",
    ],
)
def test_no_error_repeats_a_secret(load: Load, tmp_path: Path, section: str) -> None:
    (tmp_path / "leadline.toml").write_text(section)
    with pytest.raises(ConfigError) as caught:
        load("search.engines=tavily")
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert "123" not in str(caught.value)
    assert not isinstance(caught.value.__context__, ValidationError)
    assert "leadline.toml:" in str(caught.value)


def test_nothing_public_holds_a_secret(load: Load) -> None:
    loaded = load("search.engines=tavily", "plugins.tavily.headers.x=another", environ={"TAVILY_API_KEY": SECRET})
    assert public(loaded.settings)["plugins"]["tavily"] == {"max_results": 10, "depth": "basic"}
    assert SECRET not in repr(loaded.settings)
    assert set(loaded.secrets) == {SECRET, "another"}


def test_the_options_that_change_an_answer(load: Load) -> None:
    settings = Key(api_key=SecretStr(SECRET))
    assert answer_options(search_provider("x", settings=Key), settings) == {
        "max_results": 10,
        "headers": {},
        "depth": "basic",
    }
    assert answer_options(search_provider("x", settings=Key, cache_key=("depth", "api_key")), settings) == {
        "depth": "basic"
    }
    assert answer_options(search_provider("x", settings=Local), Local(folders=[], skip=frozenset("dcba")))["skip"] == [
        "a",
        "b",
        "c",
        "d",
    ]


def test_nothing_sound_is_left_of_what_is_no_table(load: Load) -> None:
    assert "search: " in fault(load, arguments={"search": 5})


@pytest.mark.parametrize(
    ("written", "told", "untold"),
    [
        (
            "[ai.roles]\nthinkin = 'embedded'\ntask = 'nosuch:m'\n",
            ("ai.roles.thinkin: ", "ai.roles.task: no plugin 'nosuch' is installed"),
            (),
        ),
        (
            "pipeline = 'mine'\n[pipelines.mine]\nstages = ['plan', 'nosuch']\ntoolz = []\n",
            ("pipelines.mine.toolz: unknown setting", "pipelines.mine.stages: no plugin 'nosuch' is installed"),
            (),
        ),
        ("pipeline = 'mine'\npipelines = 3\n", ("pipelines: ",), ("there is no pipeline",)),
        ("pipeline = 'mine'\n[pipelines]\nmine = 3\n", ("pipelines.mine: ",), ("there is no pipeline",)),
        (
            "pipeline = 'mine'\n[pipelines]\nbase = 3\n[pipelines.mine]\nextends = 'base'\n",
            ("pipelines.base: ",),
            ("there is no pipeline",),
        ),
        ("pipeline = 'mien'\n[pipelines]\nmine = 3\n", ("pipelines.mine: ", "there is no pipeline 'mien'"), ()),
        ("[pipelines.mine]\nextends = 3\nbefore.plan = ['plan']\n", ("pipelines.mine.extends: ",), ("no stage",)),
        ("[search]\nengines = [3, 'locl']\n", ("search.engines",), ("search.engines: none", "is empty")),
    ],
)
def test_only_what_follows_from_a_wrong_key_is_not_told(
    load: Load, tmp_path: Path, written: str, told: tuple[str, ...], untold: tuple[str, ...]
) -> None:
    (tmp_path / "leadline.toml").write_text(written)
    problems = "\n".join(load(complete=False).problems)
    for text in told:
        assert text in problems
    for text in untold:
        assert text not in problems
