"""Builds the image of the sandbox without a registry, from the running Python and matplotlib.

    python -m leadline_plugins.sandboxes.docker.image [--host unix://…] [--name leadline-sandbox] [--with pandas …]

The image has the interpreter, its standard library, their shared libraries, the packages and a font, but no shell and
no tools. It runs on Linux; elsewhere use any image with python3 and matplotlib.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterable, Iterator
from importlib import metadata
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from leadline.errors import ProviderError
from leadline.http import make_client
from leadline_plugins.sandboxes.docker.endpoint import Endpoint, client_for, endpoint_of

PACKAGES = ("matplotlib", "noto-cjk-sans-otc")
_AT = "/opt/packages"
_NOT = {"test", "tests", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "site-packages", "dist-packages"}
_LIBRARY = re.compile(r"(?:=> )?(/\S+) \(0x")


def contents(names: Iterable[str]) -> dict[str, Path]:
    interpreter = Path(sys._base_executable).resolve()  # type: ignore[attr-defined]
    library = Path(sysconfig.get_path("stdlib"))
    paths = {"/usr/bin/python3": interpreter, str(interpreter): interpreter}
    paths |= {str(path): path for path in _below(library)}
    for distribution in _with_dependencies(names):
        for file in metadata.files(distribution) or ():
            if ".." not in file.parts and not _NOT & set(file.parts):
                paths[f"{_AT}/{file}"] = Path(str(file.locate()))
    paths = {target: path for target, path in paths.items() if path.is_file()}
    return paths | {str(path): path for path in _libraries(paths.values())}


def _below(folder: Path) -> Iterator[Path]:
    for top, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in _NOT and not name.startswith("config-")]
        yield from (Path(top, name) for name in names if not name.endswith((".opt-1.pyc", ".opt-2.pyc", ".a")))


def _with_dependencies(names: Iterable[str]) -> set[str]:
    """Return installed distributions with their dependencies."""
    distributions: set[str] = set()
    waiting = list(names)
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name not in distributions:
            try:
                needs = metadata.requires(name) or ()
            except metadata.PackageNotFoundError:
                continue
            distributions.add(name)
            waiting += [re.split(r"[^\w.-]", need)[0] for need in needs if "extra ==" not in need]
    return distributions


def _libraries(files: Iterable[Path]) -> set[Path]:
    """Return the shared libraries that programs and modules are linked to, except those inside packages."""
    binaries = [str(path) for path in files if path.suffix == ".so" or ".so." in path.name or os.access(path, os.X_OK)]
    listed = subprocess.run(["ldd", *binaries], capture_output=True, text=True, check=False)  # noqa: S603, S607
    return {Path(match) for match in _LIBRARY.findall(listed.stdout) if not _packaged(match)}


def _packaged(path: str) -> bool:
    return "site-packages" in path or "dist-packages" in path


def pack(paths: dict[str, Path], into: IO[bytes]) -> None:
    """Write the root of the file system as a tar archive."""
    with tarfile.open(fileobj=into, mode="w") as tar:
        # Docker 20.10 lets root alone enter folders that are not in the archive.
        folders = {str(folder) for target in paths for folder in Path(target.lstrip("/")).parents} - {"."}
        for folder in sorted(folders | {"tmp", "proc", "sys", "dev", "etc"}):
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(info)
        passwd = tarfile.TarInfo("etc/passwd")
        line = b"nobody:x:65534:65534:nobody:/tmp:/none\n"
        passwd.size = len(line)
        tar.addfile(passwd, BytesIO(line))
        for target, path in sorted(paths.items()):
            tar.add(path.resolve(), target.lstrip("/"), filter=_plain)


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    """Return an entry owned by root and readable by all; it keeps its time, or compiled modules would be stale."""
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    info.mode = 0o755 if info.mode & 0o111 else 0o644
    return info


async def build(endpoint: Endpoint, name: str, packages: Iterable[str]) -> str:
    """Create the image in the engine; return its id."""
    paths = contents(packages)
    folders = sorted({str(Path(target).parent) for target in paths if ".so" in target and not target.startswith(_AT)})
    changes = [f"ENV PYTHONPATH={_AT}", f"ENV LD_LIBRARY_PATH={':'.join(folders)}"]
    with TemporaryFile() as tar:
        await asyncio.to_thread(pack, paths, tar)
        tar.seek(0)
        params: dict[str, Any] = {"fromSrc": "-", "repo": name, "tag": "latest", "changes": changes}
        async with client_for(endpoint, make_client) as client:
            created = await client.post("/images/create", params=params, content=_pieces(tar), timeout=300)
            created.raise_for_status()
            image = await client.get(f"/images/{name}:latest/json")
    image.raise_for_status()
    return f"{image.json()['Id']} ({image.json()['Size'] / 1e6:.0f} MB)"


async def _pieces(file: IO[bytes]) -> Any:
    while piece := await asyncio.to_thread(file.read, 1 << 20):
        yield piece


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build the image of the sandbox `docker`, without a registry.")
    parser.add_argument("--host", default="", help="address or Docker context of the engine")
    parser.add_argument("--name", default="leadline-sandbox", help="name of the image")
    parser.add_argument("--with", dest="more", nargs="*", default=[], help="further installed distributions to include")
    chosen = parser.parse_args()
    try:
        if (address := endpoint_of(chosen.host)) is None:
            parser.error("no engine found: start Docker or Podman, or set its address with --host")
        built = asyncio.run(build(address, chosen.name, (*PACKAGES, *chosen.more)))
        print(f"{chosen.name}: {built}")  # noqa: T201
    except (ProviderError, OSError) as problem:
        parser.exit(1, f"{problem}\n")
