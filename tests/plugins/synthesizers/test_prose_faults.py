"""What the tasks that write hold a model to, and what they keep of a text that fails twice."""

from __future__ import annotations

import pytest

from leadline.findings import Analysis, Perspective, Question
from leadline_plugins.stages import analyze
from leadline_plugins.synthesizers.prose import ASK, lacking, mended, unanswered, unusable
from leadline_plugins.tasks.planning import Quoted, SourceShown
from leadline_plugins.tasks.writing import AnalyzeRequest, Passage, SynthesizeRequest, Written

QUESTION = Question(text="How deep is the harbour by the mole?", language="en")
IDS = [f"e{number:010x}" for number in range(8)]
ASKED = SynthesizeRequest(
    question=QUESTION, title="Depth", length=200, passages=tuple(Passage(id=name, quote="It is deep.") for name in IDS)
)
SENTENCES = [
    f"Sounding {number} found nine fathoms by the old mole, and its keepers doubted it" for number in range(12)
]
SOUND = " ".join(f"{text} [@{IDS[place % 8]}]." for place, text in enumerate(SENTENCES))


def test_a_sound_text_has_no_fault_and_the_task_asks_for_one() -> None:
    assert unusable(ASKED, Written(text=SOUND)) == ""
    assert (ASK.check, ASK.mend) == (unusable, mended)


def test_what_answers_the_questions_of_a_part_is_not_too_short_and_a_part_is_named_with_them() -> None:
    long = tuple(Passage(id=name, quote="It is deep by the mole, and was sounded twice. " * 9) for name in IDS)
    whole = ASKED.model_copy(update={"passages": long, "length": 345, "questions": ("How deep is it?",)})
    part = whole.model_copy(update={"others": ("Who pays?",)})
    answer = Written(text=f"It was found to be nine fathoms deep [@{IDS[0]}].")
    assert unusable(whole, answer).endswith("words long, and about 345 were asked for: use more of the passages")
    assert unusable(part, answer) == ""
    kept = mended(part, Written(text=f"I cannot do that. {SOUND} {SOUND}"))
    assert kept is not None
    assert kept[1].startswith("the text of 'Depth' on 'How deep is it?': ")


def test_all_faults_are_told_in_one() -> None:
    said = unusable(ASKED, Written(text="Es tut mir leid, aber ich kann diesen Abschnitt nicht schreiben, " * 4))
    for words in ("it is in German and must be in English", "it refuses", "it cites none of the passages"):
        assert words in said


def test_what_is_of_use_is_kept_and_told_with_the_section() -> None:
    repeated = f"{SOUND}\n\n{'Harbours matter to all who live beside them. ' * 200}"
    assert mended(ASKED, Written(text=repeated)) == (
        Written(text=f"{SOUND}\n\nHarbours matter to all who live beside them."),
        "the text of 'Depth': it said the same over and over, and says it once now",
    )
    assert mended(ASKED, Written(text="I'm sorry, but I cannot write it.")) is None
    assert mended(ASKED, Written(text="It is deep [1].")) is None


def test_of_perspectives_the_one_that_cites_nothing_is_asked_for_again_and_then_left_out() -> None:
    shown = SourceShown(title="The bay", quotes=(Quoted(id=IDS[0], quote="It is deep."),))
    request = AnalyzeRequest(question=QUESTION, sources=(shown,))
    cites = Perspective(name="critical", text=f"It is deep [@{IDS[0]}].")
    made = Analysis(perspectives=(cites, Perspective(name="creative", text="It may be deeper.")))
    assert analyze.unusable(request, made).startswith("'creative': it cites none of the passages")
    kept = analyze.mended(request, made)
    assert kept is not None
    assert kept[0] == Analysis(perspectives=(cites,))
    assert analyze.mended(request, Analysis(perspectives=made.perspectives[1:])) is None


def test_a_paragraph_in_another_language_is_told_where_it_comes_twice() -> None:
    german = (
        "Der Hafen wurde gelotet, und die Vermessung fand eine Tiefe von neun Faden an der Mole, die sie für die Stadt "
    )
    written = Written(text=f"{SOUND}\n\n{german * 2}[@{IDS[0]}].")
    told = "a part of it is in German and must be in English"
    told += ' ("Der Hafen wurde gelotet, und die Vermessung fand eine Tiefe …")'
    assert unusable(ASKED, written) == told
    assert mended(ASKED, written) == (written, f"the text of 'Depth': {told}")


@pytest.mark.parametrize("said", ["None.", "N/A", "nothing", "无", "無。", "なし", "Keine.", "*None*", " ", "—"])
def test_a_word_for_nothing_is_no_gap(said: str) -> None:
    assert unanswered(Written(text="", unanswered=said)) == ""
    assert unusable(ASKED, Written(text="", unanswered=said)).startswith("it cites none of the passages")


@pytest.mark.parametrize(
    ("said", "gap"),
    [
        ("All key questions are answered by the passages.", False),
        ("The passages answer all of the questions.", False),
        ("所有问题均已得到回答。", False),
        ("Not all questions are answered.", True),
        ("All questions but the last are answered.", True),
        ("Every question of cost is only partly answered.", True),
        ("All questions are answered, yet no year is given.", True),
        ("All ports of call are unknown.", True),
        ("并非所有问题都得到回答。", True),
    ],
)
def test_that_all_is_answered_is_no_gap(said: str, gap: bool) -> None:
    assert bool(unanswered(Written(text="", unanswered=said))) is gap


def test_a_sentence_that_begins_so_is_one() -> None:
    assert unanswered(Written(text="", unanswered="None of the\npassages says who paid.")).startswith(
        "None of the passages"
    )


def test_of_a_section_that_was_cut_off_the_questions_are_told_that_it_may_not_answer() -> None:
    asked = ASKED.model_copy(update={"questions": ("How deep is the harbour by the mole?", "Who paid the dredgers?")})
    answered = Written(text=f"By the mole the harbour is nine fathoms deep [@{IDS[0]}].")
    assert lacking(asked, answered) == "section 'Depth' may not answer 'Who paid the dredgers?'"
    assert lacking(ASKED, answered) == "section 'Depth' may lack its end"
    assert ASK.lacks is lacking
