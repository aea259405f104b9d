"""The plugin `nli`: a claim judge that runs an entailment model with ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pydantic import Field

from leadline.errors import ConfigError
from leadline.plugin import (
    Call,
    Claim,
    Context,
    Evidence,
    Judgement,
    Judgements,
    JudgeRequest,
    Limits,
    PluginSettings,
    claim_judge,
)
from leadline_plugins.text.sentences import sentences

_FILES = ("config.json", "tokenizer.json", "model.onnx", "model.onnx_data", "onnx/model.onnx", "onnx/model.onnx_data")
_SIZES = (1, 2, 3)
"""Numbers of adjacent sentences that are checked together, before the whole passage."""
_PADDING = ("[PAD]", "<pad>")


class NliSettings(PluginSettings):
    """Which model judges, and from which probabilities on."""

    model: str = Field(description="A folder with model.onnx, tokenizer.json and config.json, or a name on the Hub.")
    supported: float = Field(0.9, gt=0, le=1, description="Probability of entailment from which a claim is supported.")
    contradicted: float = Field(0.95, gt=0, le=1, description="Probability of contradiction; from it on contradicted.")
    batch: int = Field(16, ge=1, description="Pairs of text and claim in one call of the model.")
    tokens: int = Field(512, ge=8, description="Tokens of a pair; longer texts are cut.")
    threads: int = Field(2, ge=1, description="Threads of the model.")


@dataclass(frozen=True)
class Window:
    """Adjacent sentences of a passage: `text` is what the model reads, `quote` is verbatim."""

    passage: str
    size: int
    quote: str
    text: str


@dataclass(frozen=True)
class Scores:
    """Probabilities that a window entails and contradicts a claim."""

    entailment: float
    contradiction: float


class Model:
    """An entailment model in memory. Raises `ConfigError` if the folder does not have a usable one."""

    def __init__(self, folder: Path, settings: NliSettings) -> None:
        import onnxruntime
        from tokenizers import Tokenizer

        self._entails, self._contradicts = labels(folder)
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.enable_truncation(settings.tokens)
        known = (name for name in _PADDING if self._tokenizer.token_to_id(name) is not None)
        padding = next(known, _PADDING[0])
        self._tokenizer.enable_padding(pad_id=self._tokenizer.token_to_id(padding) or 0, pad_token=padding)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.threads
        providers = ["CPUExecutionProvider"]
        self._session = onnxruntime.InferenceSession(str(weights(folder)), options, providers=providers)
        self._inputs = {tensor.name for tensor in self._session.get_inputs()}

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[Scores]:
        """Return the probabilities for pairs of a text and a claim, in their order."""
        import numpy

        encoded = self._tokenizer.encode_batch(list(pairs))
        given = {
            "input_ids": [encoding.ids for encoding in encoded],
            "attention_mask": [encoding.attention_mask for encoding in encoded],
            "token_type_ids": [encoding.type_ids for encoding in encoded],
        }
        feed = {name: numpy.array(given[name], dtype=numpy.int64) for name in given if name in self._inputs}
        logits = self._session.run(None, feed)[0].astype(numpy.float64)
        shares = numpy.exp(logits - logits.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        contradicts = self._contradicts
        return [
            Scores(float(row[self._entails]), 0.0 if contradicts is None else float(row[contradicts])) for row in shares
        ]


class NliJudge:
    """Judges each claim by the passages it cites; loads its model when it is entered."""

    def __init__(self, settings: NliSettings, context: Context) -> None:
        self._settings = settings
        self._context = context
        self._model: Model

    async def __aenter__(self) -> NliJudge:
        self._model = await self._context.in_thread(lambda: Model(fetched(self._settings.model), self._settings))
        return self

    async def __aexit__(self, *_: object) -> None:
        del self._model

    async def judge(self, request: JudgeRequest, call: Call, /) -> Judgements:
        """Return a judgement on each claim whose passages entail or contradict it."""
        passages = {passage.id: [*windows(passage)] for passage in request.passages}
        asked = [
            (claim, window)
            for claim in request.claims
            for name in claim.evidence_ids
            for window in passages.get(name, ())
        ]
        windows_of: dict[str, list[tuple[Window, Scores]]] = {}
        for start in range(0, len(asked), self._settings.batch):
            part = asked[start : start + self._settings.batch]
            scores = await self._context.in_thread(
                self._model.scores, [(window.text, claim.text) for claim, window in part]
            )
            for (claim, window), score in zip(part, scores, strict=True):
                windows_of.setdefault(claim.id, []).append((window, score))
        decided = (self._decided(claim, windows_of.get(claim.id, [])) for claim in request.claims)
        return Judgements(judgements=tuple(judgement for judgement in decided if judgement))

    def _decided(self, claim: Claim, scored: Sequence[tuple[Window, Scores]]) -> Judgement | None:
        entailing = [pair for pair in scored if pair[1].entailment >= self._settings.supported]
        if entailing:
            window, score = min(entailing, key=lambda pair: (pair[0].size, -pair[1].entailment))
            return _judgement(claim, "supported", window, score.entailment)
        for window, score in sorted(scored, key=lambda pair: -pair[1].contradiction)[:1]:
            if score.contradiction >= self._settings.contradicted:
                return _judgement(claim, "contradicted", window, score.contradiction)
        return None


def _judgement(claim: Claim, verdict: Any, window: Window, confidence: float) -> Judgement:
    return Judgement(
        claim_id=claim.id,
        verdict=verdict,
        quote=window.quote,
        evidence_id=window.passage,
        reason=f"the entailment model: {confidence:.2f}",
        confidence=confidence,
    )


def windows(passage: Evidence) -> Iterator[Window]:
    """Yield one, two and three adjacent sentences of a passage, then the whole of it."""
    spans = sentences(passage.quote)
    cuts = [(size, spans[n][0], spans[n + size - 1][1]) for size in _SIZES for n in range(len(spans) - size + 1)]
    for size, start, end in dict.fromkeys([*cuts, (len(spans), 0, len(passage.quote))]):
        if quote := passage.quote[start:end].strip():
            yield Window(passage.id, size, quote, f"{passage.lead} {quote}".strip())


def fetched(model: str) -> Path:
    """Return the folder of a model; one on the Hub is downloaded, or taken from the Hub's cache."""
    folder = Path(model).expanduser()
    if folder.is_dir() or _is_path(model):
        return folder
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(model, allow_patterns=list(_FILES)))


def labels(folder: Path) -> tuple[int, int | None]:
    """Return the places of entailment and contradiction among a model's outputs; None if it has no contradiction."""
    file = folder / "config.json"
    try:
        named = json.loads(file.read_text(encoding="utf-8"))["id2label"].items()
        places = {str(label).lower(): int(index) for index, label in named}
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise ConfigError(f"{file} has no id2label ({type(error).__name__})") from error
    entails = [index for label, index in places.items() if label.startswith("entail")]
    contradicts = [index for label, index in places.items() if label.startswith("contra")]
    if not entails:
        raise ConfigError(f"{file}: no label of id2label begins with 'entail': {', '.join(places)}")
    return entails[0], contradicts[0] if contradicts else None


def weights(folder: Path) -> Path:
    """Return the file of a model's weights."""
    return next(
        (file for file in (folder / "model.onnx", folder / "onnx" / "model.onnx") if file.is_file()),
        folder / "model.onnx",
    )


def _is_path(model: str) -> bool:
    return model.startswith(("/", ".", "~")) or "\\" in model or model.count("/") > 1


def ready(settings: NliSettings) -> str | None:
    """Return why the model cannot be loaded, without loading it; None if nothing speaks against it."""
    folder = Path(settings.model).expanduser()
    if not folder.is_dir():
        if _is_path(settings.model):
            return f"model: no such folder: {folder}"
        if find_spec("huggingface_hub") is None:
            return f"model {settings.model!r} is not a folder; for a name on the Hub: pip install huggingface_hub"
        return None
    lacking = [file.name for file in (folder / "tokenizer.json", weights(folder)) if not file.is_file()]
    if lacking:
        return f"model: {folder} has no {' and no '.join(lacking)}"
    try:
        labels(folder)
    except ConfigError as error:
        return f"model: {error}"
    return None


claim_judge(
    "Claims judged by an entailment model on this machine",
    settings=NliSettings,
    requires=("onnxruntime", "tokenizers"),
    ready=ready,
    work="local",
    cache_key=("model", "supported", "contradicted", "tokens"),
    limits=Limits(at_once=1, timeout=600.0),
)(NliJudge)
