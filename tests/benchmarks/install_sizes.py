"""Install Leadline and each of its extras into fresh environments; print what that adds.

    python tests/benchmarks/install_sizes.py [EXTRA …]

Without arguments, all extras are measured, each beside the base install. Sizes are megabytes (10^6 bytes) of files in
the environment without pip and bytecode, as `pip install` leaves them; `packages` are distributions beside Leadline.
It needs a package index.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def install(folder: Path, wheel: Path, extra: str) -> tuple[float, int, float]:
    """Return the megabytes, the number of packages and the seconds of an install; `extra` may be empty."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python, wanted = folder / "bin" / "python", f"{wheel}[{extra}]" if extra else str(wheel)
    began = time.monotonic()
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    subprocess.run([*command, "--disable-pip-version-check", wanted], check=True, stderr=subprocess.DEVNULL)
    seconds = time.monotonic() - began
    site = next((folder / "lib").glob("python*/site-packages"))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return size / 1e6, sum(1 for _ in site.glob("*.dist-info")) - 1, seconds


def main() -> None:
    extras = [*tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]]
    parser = argparse.ArgumentParser(description="Measure the installs of the extras.")
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help=f"one of {', '.join(extras)}")
    wanted = parser.parse_args().extras or extras
    with tempfile.TemporaryDirectory() as top:
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", top, str(ROOT)]
        subprocess.run([*command, "--disable-pip-version-check"], check=True)
        wheel = next(Path(top).glob("leadline-*.whl"))
        print("| extra | MB | packages | s |\n|---|---|---|---|")
        base, count, seconds = install(Path(top, "base"), wheel, "")
        print(f"| (none) | {base:.0f} | {count} | {seconds:.0f} |", flush=True)
        for extra in wanted:
            folder = Path(top, extra)
            size, packages, seconds = install(folder, wheel, extra)
            print(f"| {extra} | + {size - base:.0f} | + {packages - count} | {seconds:.0f} |", flush=True)
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
