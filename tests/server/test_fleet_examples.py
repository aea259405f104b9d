"""The examples of a fleet, for compose and for Kubernetes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.settings_from import load_settings

from leadline._hosting.catalog import PluginCatalog
from leadline.cli.commands import parse
from leadline.hookspecs import GROUP

ROOT = Path(__file__).parents[2]
FLEET = ROOT / "examples" / "fleet"
MANIFESTS = sorted((FLEET / "kubernetes").glob("*.yaml"))
FILLED = {"${POSTGRES_PASSWORD:?set it in .env}": "p", "${POSTGRES_PASSWORD}": "p", "${S3_SECRET:?set it in .env}": "s"}


def resources() -> Iterator[Any]:
    for path in MANIFESTS:
        yield from yaml.safe_load_all(path.read_text(encoding="utf-8"))


def service(name: str) -> Any:
    text = (FLEET / "compose.yaml").read_text(encoding="utf-8")
    for variable, value in FILLED.items():
        text = text.replace(variable, value)
    return yaml.safe_load(text)["services"][name]


def pod(name: str) -> Any:
    """Return the container of a Deployment with all variables that it is given."""
    by_name = {(each["kind"], each["metadata"]["name"]): each for each in resources()}
    [container] = by_name["Deployment", f"leadline-{name}"]["spec"]["template"]["spec"]["containers"]
    given = {**by_name["ConfigMap", "leadline"]["data"], **by_name["Secret", "leadline"]["stringData"]}
    own = {each["name"]: each.get("value", "10.1.2.3") for each in container["env"]}
    return {"command": container["args"], "environment": {**given, **own}, **container}


@pytest.mark.parametrize("described", [service, pod], ids=["compose", "kubernetes"])
@pytest.mark.parametrize("name", ["server", "worker"])
def test_each_process_has_a_command_and_the_settings_of_a_fleet(
    described: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "contrib" / "leadline-temporal"))
    process = described(name)
    args = parse(process["command"])
    assert (args.workers, process["command"][0]) == ((0, "serve") if name == "server" else (1, "worker"))
    is_installed = "temporal" in entry_points(group=GROUP).names
    catalog = PluginCatalog.discover(extra=() if is_installed else [EntryPoint("temporal", "leadline_temporal", GROUP)])
    options: dict[str, Any] = {"environ": process["environment"], "arguments": {"pipeline": "knowledge"}}
    loaded = load_settings(catalog, cwd=tmp_path, complete=False, **options)
    assert not loaded.problems
    runs = loaded.settings.runs
    assert (runs.dispatcher, runs.files, loaded.settings.knowledge.store) == (
        "temporal",
        "s3://leadline/runs",
        "qdrant",
    )
    assert runs.database.get_secret_value().startswith("postgresql://leadline:")
    assert loaded.settings.plugin("knowledge").database == runs.database
    assert loaded.settings.plugin("temporal").address.endswith(":7233")
    assert loaded.settings.plugin("qdrant").url == "http://qdrant:6333"
    if name == "worker":
        assert runs.live.startswith("0.0.0.0")


def test_what_compose_mounts_and_builds_exists() -> None:
    build, temporal = service("worker")["build"], service("temporal")
    assert (FLEET / build["context"] / build["dockerfile"]).resolve().is_file()
    assert (ROOT / build["args"]["MORE"].rpartition("/src/")[2]).is_dir()
    [mount] = temporal["volumes"]
    source, target, _ = mount.split(":")
    assert target.endswith(temporal["environment"]["DYNAMIC_CONFIG_FILE_PATH"])
    assert yaml.safe_load((FLEET / source).read_text(encoding="utf-8"))["matching.enableFairness"] == [{"value": True}]


def test_probes_ask_addresses_that_the_server_has() -> None:
    from leadline_server.access import PUBLIC

    container = pod("server")
    probes = {container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert {("GET", path) for path in probes} <= PUBLIC
    assert [port["name"] for port in container["ports"]] == ["http"]


@pytest.mark.slow
@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.stem)
def test_kubernetes_accepts_the_manifests(path: Path) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="pip install kubernetes-validate")
    for resource in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        kubernetes_validate.validate(resource, "1.37", strict=True)
