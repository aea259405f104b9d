"""The judge with a tiny model that the test builds: it loads, scores and quotes as with a real one."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy
import pytest
from leadline_nli import Model, NliJudge, NliSettings, fetched, ready, windows
from onnx import TensorProto, helper, numpy_helper, save
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

from leadline.errors import ConfigError
from leadline.records import Claim, Evidence, JudgeRequest
from leadline.testing.context import FakeCall, fake_context
from leadline.testing.contracts import ClaimJudgeContract

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "nine", "never"]
QUOTE = "The mole is old. The harbour is nine fathoms deep. Nobody knows why."


def tiny_model(folder: Path) -> Path:
    """Write a model that sums a row per token: `nine` entails, `never` contradicts, anything else is neutral."""
    rows = numpy.zeros((len(WORDS), 3), dtype=numpy.float32)
    rows[WORDS.index("nine"), 2] = 8
    rows[WORDS.index("never"), 0] = 30
    rows[WORDS.index("[CLS]"), 1] = 4
    nodes = [
        helper.make_node("Gather", ["rows", "input_ids"], ["embedded"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["embedded", "column"], ["masked"]),
        helper.make_node("ReduceSum", ["masked", "middle"], ["logits"], keepdims=0),
    ]
    texts = [helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "t"]) for n in ("input_ids", "attention_mask")]
    logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["b", 3])
    constants = [
        numpy_helper.from_array(rows, "rows"),
        numpy_helper.from_array(numpy.array([2], dtype=numpy.int64), "last"),
        numpy_helper.from_array(numpy.array([1], dtype=numpy.int64), "middle"),
    ]
    graph = helper.make_graph(nodes, "tiny", texts, [logits], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    folder.mkdir(parents=True, exist_ok=True)
    save(model, str(folder / "model.onnx"))
    tokenizer = Tokenizer(WordLevel({word: index for index, word in enumerate(WORDS)}, unk_token="[UNK]"))  # noqa: S106
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {"0": "CONTRADICTION", "1": "neutral", "2": "entailment"}
    (folder / "config.json").write_text(json.dumps({"id2label": names}))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tiny_model(tmp_path / "model")


@pytest.fixture
async def judge(folder: Path, tmp_path: Path) -> AsyncIterator[NliJudge]:
    context = fake_context(tmp_path / "cache")
    async with NliJudge(NliSettings(model=str(folder), batch=2), context) as made:
        yield made
    await context.close()


def request(text: str, quote: str = QUOTE, lead: str = "") -> JudgeRequest:
    claim = Claim(id="1.1", section_id="1", text=text, span=(0, len(text)), evidence_ids=("e1", "e9"))
    passage = Evidence(id="e1", source_id="s1", quote=quote, span=(0, len(quote)), lead=lead)
    return JudgeRequest(claims=(claim,), passages=(passage,))


class TestContract(ClaimJudgeContract):
    tested = NliJudge

    @pytest.fixture
    def settings(self, folder: Path) -> NliSettings:
        return NliSettings(model=str(folder))


async def test_a_claim_that_a_sentence_entails_is_supported_by_that_sentence(judge: NliJudge) -> None:
    (made,) = (await judge.judge(request("It is deep."), FakeCall())).judgements
    assert (made.verdict, made.quote, made.evidence_id) == ("supported", "The harbour is nine fathoms deep.", "e1")
    assert 0.9 < made.confidence < 1


async def test_a_claim_that_a_sentence_contradicts_is_contradicted_by_that_sentence(judge: NliJudge) -> None:
    (made,) = (await judge.judge(request("It is deep.", "The mole is old. It was never deep."), FakeCall())).judgements
    assert made.verdict == "contradicted"
    assert "It was never deep." in made.quote


async def test_a_claim_below_the_thresholds_is_left_to_the_next_judge(judge: NliJudge) -> None:
    assert (await judge.judge(request("It is deep.", "The mole is old."), FakeCall())).judgements == ()


async def test_the_lead_in_is_read_and_not_quoted(judge: NliJudge) -> None:
    (made,) = (
        await judge.judge(request("It is deep.", "- the harbour", lead="These have nine:"), FakeCall())
    ).judgements
    assert (made.verdict, made.quote) == ("supported", "- the harbour")


def test_windows_are_verbatim_and_end_with_the_whole_passage() -> None:
    quotes = [window.quote for window in windows(request("x").passages[0])]
    assert all(quote in QUOTE for quote in quotes)
    assert (quotes[1], quotes[-1]) == ("The harbour is nine fathoms deep.", QUOTE)


def test_pairs_longer_than_the_limit_are_cut(folder: Path) -> None:
    model = Model(folder, NliSettings(model=str(folder), tokens=8))
    (score,) = model.scores([("old " * 50 + "nine", "It is deep.")])
    assert score.entailment < 0.5


def test_weights_in_a_folder_onnx_are_found(folder: Path) -> None:
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / "onnx" / "model.onnx")
    assert ready(NliSettings(model=str(folder))) is None
    Model(folder, NliSettings(model=str(folder)))


@pytest.mark.parametrize("lacking", ["model.onnx", "tokenizer.json", "config.json"])
def test_a_file_that_is_missing_is_named_before_the_run(folder: Path, lacking: str) -> None:
    (folder / lacking).unlink()
    assert lacking in str(ready(NliSettings(model=str(folder))))


def test_a_model_without_a_label_of_entailment_is_refused(folder: Path) -> None:
    (folder / "config.json").write_text('{"id2label": {"0": "positive"}}')
    assert "no label of id2label begins with 'entail'" in str(ready(NliSettings(model=str(folder))))
    with pytest.raises(ConfigError, match="entail"):
        Model(folder, NliSettings(model=str(folder)))


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    assert "no such folder" in str(ready(NliSettings(model=str(tmp_path / "none"))))


def test_a_name_on_the_hub_needs_the_hubs_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    monkeypatch.setattr("leadline_nli.find_spec", lambda name: None)
    assert "pip install huggingface_hub" in str(ready(NliSettings(model="owner/name")))


def test_a_name_on_the_hub_is_downloaded_by_the_hubs_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Hub:
        @staticmethod
        def snapshot_download(name: str, allow_patterns: list[str]) -> str:
            asked.append((name, allow_patterns))
            return str(folder)

    monkeypatch.setitem(sys.modules, "huggingface_hub", Hub)
    assert fetched("owner/name") == folder
    assert asked[0][0] == "owner/name"
    assert "tokenizer.json" in asked[0][1]
