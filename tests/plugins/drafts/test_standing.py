"""What a draft keeps: numbers that are no mark, notes that cite, prose that is no list, code and formulas."""

from __future__ import annotations

import time

import pytest

from leadline.records import Figure, Section
from leadline_plugins.drafts import Known, normalised, title
from leadline_plugins.stages.placing import without_strange

A, B = "ea1b2c3d4e5", "eb1b2c3d4e5"
KNOWN = Known.of((A, B))
CITED = f"The bay is deep. [@{A}]"


def draft(text: str) -> str:
    made = normalised(text, KNOWN).text
    assert normalised(made, KNOWN).text == made
    return made


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("A fact [1].", "A fact."),
        ("A fact[1], and more", "A fact, and more"),
        ("A fact.[1] Another", "A fact. Another"),
        ("A fact. [1] Another", "A fact. Another"),
        ("“A fact” [1] and (more)[2].", "“A fact” and (more)."),
        ("A fact,[1] and; [2] more", "A fact, and; more"),
        ("In 1998[1] and 2020 [2].", "In 1998 and 2020."),
        ("Smith et al. [1] found it.", "Smith et al. found it."),
        ("Made [1]-[3] and [1]–[3].", "Made."),
        ("这是结论。[1]见[1]，参见【2†source】。", "这是结论。见，参见。"),
        ("A *fact* [1] and **more**[2].", "A *fact* and **more**."),
        ("Said <b>so</b> [1] (and [2]) so ([3]).", "Said <b>so</b> (and) so."),
        ("At $5 [1], later $6_000 [2] and $7", "At $5, later $6_000 and $7"),
        ("So it is.<sup>2</sup> More, “so”<sup>3</sup> it is <sup>4</sup>.", "So it is. More, “so” it is."),
        ("So it is.<sup>1</sup><sup>2</sup> A bay", "So it is. A bay"),
        ("See word<sup>[2]</sup> there", "See word there"),
    ],
)
def test_a_mark_goes_where_a_citation_can_stand(text: str, made: str) -> None:
    assert draft(f"{text}\n\n{CITED}") == f"{made}\n\n{CITED}"


@pytest.mark.parametrize(
    "text",
    [
        "Under Art. [5], § [12], Article [6](1)(f) and Section [2](a) of it.",
        "See No. [3], Nr. [4], Eq. [5], Figure [6], Table [7] and Chapter [8] there.",
        "a [3,3]-sigmatropic, [2,3]-Wittig rearrangement",
        "Use sys.argv[1], arr[1], x[2], a1[3], f(x)[4] and my_list[5] here.",
        "The vector [1, 2, 3] has a norm.",
        "Numbers x in [1, 10] and [2, 5], the range [2, 5] and between [1] and [2].",
        "A dose [50, 100] mg of [12] kg with [13]C for [24] hours.",
        "It is the [10] largest of the top [20] here.",
        "Python's [1] + [2] = [3] so.",
        'He said “[1]” and "[2]" there.',
        "[1] The first.\n[2] The second.",
        "- [1] item\n- [2] item",
        "> [1] said so",
        "So it is. [1] shows that.",
        "| a | b |\n|---|---|\n| [1] | x |\n| [2, 3] | y |",
        "Rows [1], [2] and [3] are merged.",
        "Step [1]: do it.",
        "Steps\n\n[1]: wash the hands first\n[2]: dry them",
        "Steps:\n\n[1] First do this\n[2] Then do that",
    ],
)
def test_in_doubt_a_bracket_is_escaped(text: str) -> None:
    found = normalised(f"{text}\n\n{CITED}", KNOWN)
    assert found.left_out == 0
    assert found.text.replace("\\[", "[").replace("\\]", "]") == f"{text}\n\n{CITED}"
    assert draft(found.text) == found.text
    assert "\\[" in found.text


def test_in_doubt_brackets_of_other_scripts_become_escaped_ones() -> None:
    assert draft(f"《民法典》第［12］条。\n【1】背景\n\n{CITED}") == f"《民法典》第\\[12\\]条。\n\\[1\\]背景\n\n{CITED}"


@pytest.mark.parametrize(
    "text",
    [
        r"The interval $[0,1]$, the pair $[1,2]$ and $x \in [1,2]$; also $$[1,2]$$ so.",
        r"So \[ [1,2] \] and \([1,2]\) hold.",
        "\\[\n v = [1, 2, 3]\n\\]\n\n$$\n[1,2,3]\n$$",
        "See https://x.y/?a[1]=2&b[]=3 and <https://x.y/a[1]> and http://[2001:db8::1]/x there.",
        "E = mc<sup>2</sup>, ab<sup>2</sup>, log<sup>2</sup>, ha<sup>2</sup>, pixels<sup>2</sup>, 2<sup>10</sup>,"
        " χ<sup>2</sup>, (a+b)<sup>2</sup>, m<sup>2</sup>, <sup>1</sup>H, <sup>13</sup> C",
        "### Sources\n\nThe river has two sources in the Alps.\n\nBoth are high up.",
        "### Notes\n\nThe figures are rounded.\n\n### More\n\nText.",
        "### Further reading\n\nA book on it.",
        "It has three.\n\n**Sources:**\n\n- Cars\n- Power plants\n\nAll of them grow.",
        "### Sources\n\nThe census of 2019 counted them.\n\nSo it is.",
    ],
)
def test_formulas_addresses_powers_and_prose_stand(text: str) -> None:
    assert draft(f"{text}\n\n{CITED}") == f"{text}\n\n{CITED}"


@pytest.mark.parametrize(
    "entries",
    [
        "[1] Doe, Made up.\n[2] Roe.",
        "1. Smith, J. (2020). Made up.\n2. Doe, A. 2019. Made up.",
        "- Made up (2019)\n- Made up, May 2020",
        "Smith and Doe (2020): Made up.",
        "- Made up, www.fake.example",
    ],
)
def test_a_list_of_references_goes_with_its_heading(entries: str) -> None:
    found = normalised(f"{CITED}\n\n### Sources\n\n{entries}", KNOWN)
    assert (found.text, found.left_out > 0) == (CITED, True)


@pytest.mark.parametrize("label", ["1", "n"])
@pytest.mark.parametrize(
    ("call", "note", "made"),
    [
        ("Ports pay.[^{}]", f"[@{A}]", f"Ports pay. [@{A}]"),
        ("Ports pay[^{}].", f"@{A}", f"Ports pay [@{A}]."),
        ("Ports pay.[^{}]", f"See [@{A}], at the end.", f"Ports pay. (See [@{A}], at the end.)"),
        ("Ports pay.[^{0}] So do ships.[^{0}]", f"Dues [@{A}].", f"Ports pay. (Dues [@{A}].) So do ships. [@{A}]"),
        ("Ports pay.", f"So it is [@{A}]", f"Ports pay.\n\nSo it is [@{A}]"),
    ],
)
def test_a_footnote_that_cites_keeps_what_it_says(label: str, call: str, note: str, made: str) -> None:
    assert draft(f"{call.format(label)}\n\n[^{label}]: {note}") == made
    assert draft(f"{call.format(label)}\n\n### Notes\n\n[^{label}]: {note}").startswith(made.partition("\n")[0])


def test_a_numbered_footnote_that_cites_nothing_goes_as_a_named_one_does() -> None:
    found = normalised(f"So it is.[^1] {CITED}\n\n[^1]: A remark.", KNOWN)
    assert (found.text, found.left_out) == (f"So it is. {CITED}", 1)


def test_a_title_has_no_number_of_the_models_own() -> None:
    assert title("Ports [1]") == title("## Ports [1, 2]") == title("Ports[^1]") == title("**Ports【2】**") == "Ports"
    assert title("The interval [0, 1] of Article [5]") == "The interval [0, 1] of Article [5]"


@pytest.mark.parametrize("code", ["`![](figure:no)`", "``a ` ![](figure:no)``", "```\n![](figure:no)\n\n\n\nx\n```"])
def test_code_that_speaks_of_a_figure_stands(code: str) -> None:
    text = f"One.\n\n{code}\n\nSo. ![](figure:no)\n\n![](figure:f1)"
    section = Section(id="1", title="T", text=text)
    (made,) = without_strange((section,), (Figure(id="f1", caption="C", alt="A", media={}),))
    assert made.text == text.replace("So. ![](figure:no)", "So.")


@pytest.mark.parametrize(
    "piece", ["a [1], ", "x [1]\n", "https://x[1]", "\\[ [1] ", "$[1] ", "word[1]", "(([1", "[^1]: a\n", "*_ [1]"]
)
def test_long_text_takes_no_more_than_its_length(piece: str) -> None:
    began = time.perf_counter()
    normalised(piece * (60_000 // len(piece)), KNOWN)
    assert time.perf_counter() - began < 10
