"""What a model writes becomes the text of a section: it cites known evidence, and nothing beside that."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from leadline.citations import cite, cited
from leadline_plugins.citing import read
from leadline_plugins.drafts import Known, normalised, title
from leadline_plugins.synthesizers.verbatim import markdown

A, B = "ea1b2c3d4e5", "eb1b2c3d4e5"
KNOWN = Known.of((A, B))
CITED = f"The bay is deep. [@{A}]"


def draft(text: str, *titles: str) -> str:
    return normalised(text, KNOWN, titles).text


MARKS = (
    "[1]",
    "[2, 7]",
    "[99]",
    "[1-4]",
    "[1][2]",
    "[1], [2]",
    "【2】",
    "【2†source】",
    "［3］",
    "[^2]",
    "[source 2]",
    "[Ref. 2]",
    "<sup>2</sup>",
    "<sup>[2]</sup>",
    "[2](#ref-2)",
    "[[2]](#ref-2)",
    "[[2]]",
    "**[2]**",
    "([2])",
    "[src-1]",
    "[S2]",
    "[Passage 3]",
    "[Source 1, Source 2]",
    "(Source 2)",
    "(see sources 2, 3 and 5)",
)


@pytest.mark.parametrize(
    "said",
    [
        "[@{}†L3-L5]",
        "[@{}:3]",
        "【{}†source】",
        "【[@{}]†source】",
        "[evidence_id: {}]",
        "[evidence_id: [@{}]]",
        "[@id={}]",
        '["{}"]',
        '[@"{}"]',
        "@[{}]",
        "^[{}]",
        "\\cite{{{}}}",
        "\\citep[@{}]",
    ],
)
def test_an_id_is_read_however_it_is_set(said: str) -> None:
    assert draft(f"The bay is deep {said.format(A)}.") == f"The bay is deep [@{A}]."


def test_an_id_of_which_a_letter_is_lost_is_read_where_it_can_be_but_one() -> None:
    for lost in (A[1:], A[:-1], A[:8]):
        assert draft(f"The bay is deep [@{lost}].") == f"The bay is deep [@{A}]."
    alike = Known.of((f"{A[:-1]}1", f"{A[:-1]}2"))
    assert normalised(f"The bay is deep [@{A[:-1]}].", alike).text == "The bay is deep."


@pytest.mark.parametrize(
    "text",
    ["It is 12 m² wide and 10³ deep, as x² is.", "So says Directive (source: Eurostat 2020)."],
)
def test_what_only_looks_like_a_name_of_a_source_stands(text: str) -> None:
    assert draft(f"{text}\n\n{CITED}").startswith(text)


def test_a_raised_number_behind_a_sentence_goes() -> None:
    assert draft(f"The bay is deep.¹ It is wide².\n\n{CITED}") == f"The bay is deep. It is wide².\n\n{CITED}"
    assert draft(f"The harbour².\n\n{CITED}") == f"The harbour.\n\n{CITED}"


def test_a_mark_that_is_a_cell_goes_and_the_cell_stays() -> None:
    table = "| a | b |\n|---|---|\n| x | [12] |\n| [12] | y |"
    assert draft(f"{table}\n\n{CITED}").startswith("| a | b |\n|---|---|\n| x | |\n| \\[12\\] | y |")


@pytest.mark.parametrize(
    "listed",
    [
        f"### References\n\n1. [@{A}] USFWS\n2. [@{B}] ZSL\n3. Smith, J. (2019). Zoos. Nature 5(3), 1-10.",
        f"**Sources:**\n- {A}: USFWS\n- {B}: ZSL\n- Smith 2019, Nature",
        f"## 参考文献\n\n- [@{A}] USFWS\n- ZSL",
    ],
)
def test_a_list_of_references_goes_whatever_it_names(listed: str) -> None:
    assert draft(f"{CITED}\n\n{listed}") == CITED


def test_what_stands_under_sources_and_says_something_stays() -> None:
    text = f"### Sources\n\n- The river rises from two springs [@{A}].\n- A third feeds it below the mill [@{B}]."
    assert draft(f"{CITED}\n\n{text}") == f"{CITED}\n\n{text}"


def test_a_sentence_names_no_source_that_is_none() -> None:
    assert draft(f"According to [@s123456789a], ships pay.\n\n{CITED}") == f"Ships pay.\n\n{CITED}"
    assert draft(f"Ships pay, according to [@s123456789a].\n\n{CITED}") == f"Ships pay.\n\n{CITED}"
    assert draft(f"According to [@{A}], ships pay.") == f"According to [@{A}], ships pay."


@pytest.mark.parametrize("first", ["Costs", "## 1. Costs", "**Section 2: Costs**", "# Costs"])
def test_a_title_said_again_goes_with_its_number(first: str) -> None:
    assert normalised(f"{first}\n\n{CITED}", KNOWN, ("Costs",)).text == CITED


def test_ends_of_lines_that_are_escaped_twice_are_ends() -> None:
    said = CITED + "\\n\\n### More\\n\\n| a | b |\\n|---|---|\\n| c | d |\\n\\n" + CITED
    assert draft(said) == f"{CITED}\n\n### More\n\n| a | b |\n|---|---|\n| c | d |\n\n{CITED}"
    assert draft(f"Where $\\nabla\\nu$ holds. {CITED}") == f"Where $\\nabla\\nu$ holds. {CITED}"


@pytest.mark.parametrize("mark", MARKS)
def test_numbers_of_the_models_own_go_with_the_space_before_them(mark: str) -> None:
    found = normalised(f"The harbour is wide {mark}.\n\n{CITED}", KNOWN)
    assert found.text == f"The harbour is wide.\n\n{CITED}"
    assert found.left_out > 0
    if mark != "<sup>2</sup>":  # behind a word it is a power
        assert draft(f"The harbour{mark} is wide.\n\n{CITED}") == f"The harbour is wide.\n\n{CITED}"
    assert draft(f"“The harbour.”{mark} It is wide.\n\n{CITED}") == f"“The harbour.” It is wide.\n\n{CITED}"


@pytest.mark.parametrize(
    "text",
    [
        "It said so [sic] and […] went on.",
        "- [x] done\n- [ ] open",
        "The field `a[1]` is set.",
        "```\na[1] = 2\n```",
        "[Page 2](https://example.org/2) and [2](https://example.org/2) say so.",
        "It is 5 km<sup>2</sup> wide and 10<sup>6</sup> years old.",
        "Uranium <sup>235</sup>U decays.",
        "Where $a_1 = b[2]^2$ holds.",
        r"It is escaped \[9\] already.",
        "Write to me@example.org or @somebody (@somebody).",
        "See https://example.org/@ea1b2c3d4e5/a and <https://example.org/e0123456789>.",
        "| a | b |\n|---|---|\n| c | d |",
        "### Heading\n\nText.\n\n#### Deeper\n\n1. one\n2. two",
    ],
)
def test_what_is_no_mark_stands(text: str) -> None:
    assert draft(f"{text}\n\n{CITED}") == f"{text}\n\n{CITED}"


def test_years_and_intervals_are_escaped_so_that_nobody_takes_them_for_marks() -> None:
    assert draft(f"So [2019] with CI [12, 18] in [0, 1]. {CITED}") == (
        rf"So \[2019\] with CI \[12, 18\] in \[0, 1\]. {CITED}"
    )


@pytest.mark.parametrize(
    "mark",
    [
        f"[@{A}, @{B}]",
        f"[@{A}; @{B}]",
        f"[@{A} @{B}]",
        f"[@{A},{B}]",
        f"[{A}, {B}]",
        f"(@{A}; @{B})",
        f"[@{A}, @e0123456789, @{B}]",
        f"[@{A}, p. 3; @{B}, pp. 4-5]",
    ],
)
def test_several_in_one_bracket_are_read_one_by_one(mark: str) -> None:
    assert draft(f"Paid by the operator {mark}.") == f"Paid by the operator [@{A}][@{B}]."


@pytest.mark.parametrize(
    "mark",
    [
        f"[@{A}, p. 3]",
        f"[see @{A}]",
        f"[ @{A} ]",
        f"(@{A})",
        f"@{A}",
        f"【@{A}】",
        f"［@{A}］",
        f"{{@{A}}}",
        f"[^@{A}]",
        rf"\[@{A}\]",
        rf"\[@{A}]",
        f"[{A}]",
        f"({A})",
        f"[@{A.upper()}]",
        f"[@id:{A}]",
        f"[@evidence-{A}]",
        f"[[@{A}]]",
        f"[<@{A}>]",
        f"[@{A}](http://example.org/x)",
        f"[[@{A}]](http://example.org/x)",
        f"`[@{A}]`",
        f"<sup>[@{A}]</sup>",
        f"<sup>@{A}</sup>",
        A,
    ],
)
def test_near_misses_are_read_as_citations(mark: str) -> None:
    assert draft(f"Paid by the operator {mark}.") == f"Paid by the operator [@{A}]."


@pytest.mark.parametrize("mark", ["[@e0123456789]", "@e0123456789", "(e0123456789)", "e0123456789", "[@nope; @more]"])
def test_ids_that_are_not_there_go_without_a_gap(mark: str) -> None:
    assert draft(f"Paid by the operator {mark}.\n\n{CITED}") == f"Paid by the operator.\n\n{CITED}"


def test_an_id_that_a_page_names_itself_is_read_in_the_exact_form_only() -> None:
    known = Known.of((A, B), (f"The page says [@{B}].",))
    text = rf"Says [ @{B} ] and \[@{B}] and ({B}). [@{A}][@{B}]"
    assert cited(normalised(text, known).text) == [A, B]


@given(st.lists(st.from_regex(r"[eE][eE0aA]{10}|[eE0ſß]{1,12}", fullmatch=True)), st.text("eE0aA[]ſß\n", max_size=60))
def test_ids_that_stand_anywhere_in_a_page_are_read_in_no_other_form(ids: list[str], page: str) -> None:
    stand = {name for name in ids if name.casefold() in page.casefold()}
    assert {*Known.of(ids, (page,)).loose} == {name.casefold() for name in {*ids} - stand}


def test_an_id_that_lies_in_another_stands_in_the_page() -> None:
    assert Known.of((A, f"e{A[:-1]}"), (f"The page says e{A}.",)).loose == {}


def test_hundreds_of_ids_are_looked_for_in_a_long_page_at_once() -> None:
    ids, page = [f"e{number:010x}" for number in range(3_000)], ["The bay is deep. " * 20] * 3_000
    began = time.process_time()
    assert len(Known.of(ids, page).loose) == len(ids)
    assert time.process_time() - began < 0.5


def test_a_citation_becomes_no_link_and_no_definition() -> None:
    assert draft(f"So [@{A}](see there). [@{A}]") == f"So [@{A}] (see there). [@{A}]"
    assert draft(f"[@{A}]: so it is. [@{A}]") == f"[@{A}] : so it is. [@{A}]"


@pytest.mark.parametrize(
    "definition",
    [
        "[1]: https://evil.example/one\n[2]: https://evil.example/two",
        "[^1]: A note of mine https://evil.example/",
        f'[@{A}]: https://evil.example "x"',
        "> [1]: https://evil.example/one",
        "- [1]: https://evil.example/one",
        "[1\n]: https://evil.example/one",
    ],
)
def test_definitions_of_numbers_go(definition: str) -> None:
    assert draft(f"{CITED}\n\n{definition}") == CITED


def test_other_links_say_themselves_where_they_lead() -> None:
    text = "[A page][p] and [more][].\n\n[p]: https://example.org/p 'P'\n[more]: https://example.org/m"
    assert (
        draft(f"{text}\n\n{CITED}") == f"[A page](https://example.org/p) and [more](https://example.org/m).\n\n{CITED}"
    )


def test_a_footnote_that_cites_stands_where_it_is_called() -> None:
    assert draft(f"So it is[^n]. [@{B}]\n\n[^n]: {CITED}") == f"So it is ({CITED}). [@{B}]"
    found = normalised(f"So it is[^n]. [@{B}]\n\n[^n]: Smith, J. (2020). Fake.", KNOWN)
    assert (found.text, found.left_out) == (f"So it is. [@{B}]", 1)


@pytest.mark.parametrize(
    "references",
    [
        "## References\n\n[1] Smith, J. (2020). Fake. http://fake.example\n[2] Doe.",
        "# Cited Sources (Used in Report)\n[1] Fake - http://fake.example",
        "**References:**\n\n1. Smith http://fake.example\n2. Doe http://fake.example",
        "Sources:\n- http://fake.example\n- http://fake.example/2",
        "[1] Fake - http://fake.example\n[2] Doe - http://fake.example",
        f"### Sources\n\n- [@{A}] Smith\n- [@{B}] Doe",
        "参考文献：\n\n[1] 张三 http://fake.example",
    ],
)
def test_a_list_of_references_of_its_own_goes(references: str) -> None:
    found = normalised(f"{CITED}\n\n{references}", KNOWN)
    assert found.text == CITED
    assert found.left_out > 0


@pytest.mark.parametrize(
    "said",
    [
        "[1] According to Holl (2018), there is evidence of ironworking. [2] In 2014 Eggert argued otherwise.",
        "[3] reports that revenue rose by 12% in the second quarter (2023), while costs fell.",
        "[1] shows a fall to 40 % (2019 to 2021), and [2] shows a rise.",
        "[1] Ports " + "and harbours " * 30 + "pay (2019).",
    ],
)
def test_a_last_paragraph_that_begins_with_a_number_is_no_list(said: str) -> None:
    assert said[4:20] in normalised(f"So it is {CITED}.\n\n{said}", KNOWN).text


@pytest.mark.parametrize(
    "entry", ["[1] van der Berg, J. (2018). Iron.", "[1] 王明 (2020). 钢铁.", "[1] iron.org, (2018)"]
)
def test_a_last_paragraph_of_entries_is_one(entry: str) -> None:
    assert normalised(f"So it is {CITED}.\n\n{entry}", KNOWN).text == f"So it is {CITED}."


def test_what_follows_such_a_list_and_only_looks_like_one_stands() -> None:
    text = f"## Cited Sources\n\n[1] Fake - http://fake.example\n\n{CITED}\n\n# Method\n\nBy hand. [@{B}]"
    assert draft(text) == f"{CITED}\n\n### Method\n\nBy hand. [@{B}]"
    legitimate = f"### Sources\n\n- Norway pays 3 million. [@{A}]\n- Sweden pays 2. [@{B}]"
    assert draft(legitimate) == legitimate


def test_headings_stand_below_the_section_and_none_repeats_its_title() -> None:
    assert draft(f"# A\n\n{CITED}\n\n###### B\n\n{CITED}") == f"### A\n\n{CITED}\n\n#### B\n\n{CITED}"
    assert draft(f"Title\n=====\n\n{CITED}") == f"### Title\n\n{CITED}"
    assert draft(f"{CITED}\n-----\n\n{CITED}") == f"{CITED}\n\n---\n\n{CITED}"
    for first in ("## The Costs", "**The costs**", "# the costs:"):
        assert draft(f"{first}\n\n{CITED}", "The costs") == CITED


def test_code_ends_where_the_section_does_or_goes_on() -> None:
    assert draft(f"{CITED}\n\n```\nx = 1\n") == f"{CITED}\n\n```\nx = 1\n```"
    assert draft(f"{CITED}\n\n~~~\nx = 1\n\n{CITED}") == f"{CITED}\n\n~~~\nx = 1\n\n~~~\n\n{CITED}"
    closed = f"{CITED}\n\n```python\nx = 1\n```\n\n{CITED}"
    assert draft(closed) == closed


@pytest.mark.parametrize(
    "wrapped",
    [
        f"```markdown\n{CITED}\n```",
        f"~~~md\n{CITED}\n~~~\n",
        f"```markdown\n{CITED}",
        f'{{"text": "{CITED}"}}',
        f'```json\n{{"text": "{CITED}"}}\n```',
        f"<think>I must cite [1].</think>\n\n{CITED}",
    ],
)
def test_what_stands_around_the_whole_goes(wrapped: str) -> None:
    assert draft(wrapped) == CITED


def test_citations_leave_code() -> None:
    assert draft(f"Set `x = 1 [@{A}]` there.") == f"Set `x = 1` [@{A}] there."
    assert draft(f"So:\n\n```\nx [@{A}] = 1 [@e0123456789]\n```") == f"So:\n\n```\nx = 1\n```\n[@{A}]"


def test_no_dash_is_left_that_makes_a_heading() -> None:
    assert draft(f"{CITED}\n- [^2]") == CITED


def test_titles() -> None:
    assert title("## The **costs** [@e1]") == "The **costs**"
    assert title("**C#**") == "C#"
    assert title("# ") == ""


PIECES = st.sampled_from(
    [
        *MARKS,
        f"[@{A}]",
        f"(@{B})",
        f"[@{A}; @nope]",
        "[@nope]",
        "[1]: http://x.example",
        "[n]: x",
        "[^n]: x",
        "[^n]",
        "[2019]",
        "[",
        "]",
        "(",
        ")",
        "`",
        "```",
        "*",
        "$",
        "\\",
        "word",
        "1",
        "@",
        ", ",
        ": ",
        " ",
        "\n",
        "\n\n",
        "# ",
        "- ",
        "> ",
        "===",
        "---",
        "    ",
        "## References\n",
        "http://x.example/",
        "!",
        "{",
        "}",
    ]
)
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_nothing_is_cited_that_is_not_known_and_no_number_is_left(text: str) -> None:
    made = draft(text)
    assert set(cited(made)) <= {A, B}
    env: dict[str, dict[str, object]] = {}
    MarkdownIt().parse(made, env)
    assert not env.get("references")
    if "$" in text or "\\(" in text or "<sup>" in made:  # formulas and powers
        return
    made = re.sub(r"https?://\S*", "", made)  # an address may hold brackets
    own = {key for mark in read(f"Real [777].\n\n{made}").marks for key in mark.keys} - {"777"}
    assert not {key for key in own if key.strip("^").isdigit()} or "](http" in made


@settings(max_examples=400, deadline=None)
@given(TEXTS)
def test_twice_is_once(text: str) -> None:
    assert draft(draft(text)) == draft(text)


@given(st.text(alphabet=st.characters(exclude_characters="[]【】［］@<#=-~`|{}\\\r", exclude_categories=["Cs"])))
def test_text_without_marks_is_unchanged(text: str) -> None:
    if "http" not in text and ":" not in text and "：" not in text and "e" not in text.casefold():
        assert draft(text) == text.strip()


@given(st.text(max_size=60))
def test_a_quote_that_is_set_word_for_word_stands(quote: str) -> None:
    said = "x" + quote.translate(dict.fromkeys(map(ord, "【】［］@{}\r"), "."))
    text = markdown(said, cite(A)).strip()
    if "\n" not in text:
        assert draft(text) == text


HOSTILE = ("[", "[1", "[@", "【2†", "`", " ", "[a](", "<sup>", "\n", "> ", "$", "\\(", "(@", "[1], ", "{", "[source ")


@pytest.mark.parametrize("piece", HOSTILE)
def test_long_hostile_text_takes_no_more_than_its_length(piece: str) -> None:
    began = time.perf_counter()
    normalised(piece * (60_000 // len(piece)), KNOWN)
    assert time.perf_counter() - began < 10
