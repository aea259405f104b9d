"""Answer a question from documents of every Python installation, without key and network.

    python examples/offline_demo.py ["QUESTION"]

It writes the language reference (a file per topic) and the READMEs of installed packages into a folder below
build/demo, and runs the command line on them. The run is stored in runs/.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from pydoc_data.topics import topics

QUESTION = "When are default parameter values of a function evaluated?"
PLACE = Path("build", "demo")
SUFFIXES = {"text/markdown": ".md", "text/x-rst": ".rst"}


def write_documents(folder: Path) -> int:
    """Write the documents and return their number."""
    texts = {f"python/{name}.rst": text for name, text in topics.items()}
    for package in distributions():
        if package.name == "leadline":  # its README contains this question
            continue
        about = package.metadata.json
        suffix = SUFFIXES.get(str(about.get("description_content_type", "")).partition(";")[0], ".txt")
        texts[f"packages/{package.name}{suffix}"] = str(about.get("description", ""))
    written = {name: text for name, text in texts.items() if text.strip()}
    for name, text in written.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return len(written)


def main() -> int:
    """Prepare the folder and run the question; return the exit code."""
    documents = PLACE / "documents"
    print(f"{write_documents(documents)} documents in {documents}")
    question = " ".join(sys.argv[1:]) or QUESTION
    command = ["research", question, "--docs", str(documents), "--set", "report.length=120"]
    print(f"$ {shlex.join(['leadline', *command])}\n", flush=True)
    # Offline even if keys are set: only documents and built-in algorithms.
    alone = {"LEADLINE_SEARCH__ENGINES": "local", "LEADLINE_AI__PROVIDERS": "embedded"}
    environment = {**os.environ, **alone, "XDG_CACHE_HOME": str((PLACE / "cache").absolute())}
    return subprocess.run([sys.executable, "-m", "leadline", *command], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
