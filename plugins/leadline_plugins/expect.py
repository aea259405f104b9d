"""What each task of ours will cost: how often it is asked, and how long its inputs and its reply are.

Measured on runs of the emulator and written down as rules; a test holds them against a run, so that they keep to what
the stages do.
"""

from __future__ import annotations

from leadline.expecting import CHARACTERS_PER_TOKEN, PAGE, Expected, Scope
from leadline_plugins.stages.material import (
    BEST,
    CJK_LENGTH,
    LENGTH,
    LETTERS,
    OF_LENGTH,
    SHARE,
    characters_a_learning,
    most_words,
)
from leadline_plugins.synthesizers.parts import count_of
from leadline_plugins.text import is_cjk, language

SECTIONS, MOST_SECTIONS = 5, 8
"""Of a plan: usual, and at most."""
_QUOTE, _AROUND = 200, 210
"""Characters of a quote, and of what stands around it in JSON: ids, names, titles."""
_AROUND_PASSAGE, _SHOWN = 100, 1.5
"""Of a passage as a writer sees it, its source told apart; in how many parts of sections it is shown."""
_WRITER = 3_000
"""Characters of what a writer is told beside its passages."""
MOST_PLACED = 120
"""Passages that a model is asked to place: the best, some 8,000 tokens of them."""
_CJK_QUOTE = 65
"""The same of Chinese and Japanese, whose sentences are a third as long: there are three times as many of a page."""
_LEARNING = 130
"""What stands around a quote that is given as a learning."""
_SLIM = 60
"""What stands around a quote of those that are shown by their sources: its id, the headings over it."""
_CITED = 1.2
"""A written text with its citations, over the same without."""
_PLAN = 3_000
_PAST = 130
"""Characters of a search that was made, as it is told."""
_CLAIM_WORDS, _CLAIM = 25, 600
"""Words of a claim; characters of one with its passages."""
_TOOLS = 2_300
"""Characters of the definitions of tools."""
_CHARTED = 4_000
"""Tokens of the passages that charts are planned from, at most."""
_OPEN = 0.4
"""The share of claims that rules leave to the model; of the emulator's, which are quotes, it is a tenth."""


def _cjk(scope: Scope) -> bool:
    wanted = scope.settings.language
    return is_cjk(language(scope.question) if wanted == "auto" else wanted)


def _length(scope: Scope) -> int:
    return scope.settings.report.length or (CJK_LENGTH if _cjk(scope) else LENGTH)


def _tokens(characters: float, scope: Scope) -> int:
    return round(characters / (1.5 if _cjk(scope) else CHARACTERS_PER_TOKEN))


def _learnings(scope: Scope) -> float:
    """Return how many learnings come of a page."""
    return PAGE / characters_a_learning(cjk=_cjk(scope))


def _quote(scope: Scope) -> int:
    return _CJK_QUOTE if _cjk(scope) else _QUOTE


def _text(scope: Scope) -> float:
    """Return the characters of the report's text with its citations."""
    return _length(scope) * _CITED * (1 if _cjk(scope) else LETTERS)


def _material(scope: Scope) -> float:
    """Return the characters of the passages that reach the writers."""
    most = most_words(scope.settings, scope.queries(scope.rounds), cjk=_cjk(scope))
    letters = 1 if _cjk(scope) else LETTERS
    return min(most * letters, max(SHARE * scope.pages * PAGE, OF_LENGTH * _length(scope) * letters))


def _expected(scope: Scope, inputs: float, reply: float, *, calls: tuple[int, int, int], basis: str = "") -> Expected:
    """Return it by characters; `calls` at least, likely, at most."""
    least, likely, most = calls
    inputs, reply = _tokens(inputs, scope), _tokens(reply, scope)
    return Expected(least=least, likely=likely, most=most, inputs=inputs, reply=reply, basis=basis)


def clarify(scope: Scope, *, asked: bool) -> Expected:
    """Expect a call where the question is complex or, by the rules, unclear."""
    off = scope.settings.clarify.mode == "off"
    calls = (0, int(asked and not off), 0 if off or (scope.question and not asked) else 1)
    return _expected(scope, 300, 400, calls=calls)


def plan(scope: Scope) -> Expected:
    """Expect one call."""
    return _expected(scope, 300, 2_400, calls=(1, 1, 1))


def query(scope: Scope) -> Expected:
    """Expect none: queries come with the plan and with the digest."""
    return _expected(scope, _PLAN + BEST * (_quote(scope) + _SLIM), 800, calls=(0, 0, scope.most_rounds))


def extract(scope: Scope) -> Expected:
    """Expect a call a page; a later round may read pages again that are known."""
    searches = 2 * scope.queries(scope.most_rounds) - scope.queries(1)
    most = searches * scope.settings.research.pages_per_query
    return _expected(scope, PAGE + 800, _learnings(scope) * (_quote(scope) + _LEARNING), calls=(0, scope.pages, most))


def digest(scope: Scope) -> Expected:
    """Expect a call a round, over the best evidence for its searches; of several none for the last that is allowed."""
    inputs = _PLAN + BEST * (_quote(scope) + _SLIM) + scope.queries(scope.rounds) * _PAST
    likely = min(scope.rounds, max(1, scope.most_rounds - 1))
    return _expected(scope, inputs, 1_400, calls=(1, likely, scope.most_rounds))


def review(scope: Scope) -> Expected:
    """Expect none: the digest brings it."""
    return _expected(scope, _PLAN + BEST * (_quote(scope) + _SLIM), 600, calls=(0, 0, scope.most_rounds))


def sort(scope: Scope) -> Expected:
    """Expect one call over all that was read."""
    evidence = scope.pages * _learnings(scope)
    return _expected(scope, scope.pages * PAGE + evidence * (_quote(scope) + _AROUND), evidence * 16, calls=(1, 1, 1))


def place(scope: Scope) -> Expected:
    """Expect none, where words sort most passages surely; else one over the best of those that they do not."""
    shown = min(MOST_PLACED, _material(scope) / _QUOTE / 2)
    return _expected(scope, 2_500 + shown * (_QUOTE + 60), shown * 8, calls=(0, 0, 1))


def synthesize(scope: Scope) -> Expected:
    """Expect a call a part of a section, from its share of the passages."""
    length, cjk = _length(scope), _cjk(scope)
    calls = {count: count * count_of(length // count, count, cjk=cjk) for count in range(1, MOST_SECTIONS + 1)}
    likely = calls[SECTIONS]
    inputs = _material(scope) * _SHOWN * (1 + _AROUND_PASSAGE / _QUOTE) / likely + _WRITER
    unit = "characters" if _cjk(scope) else "words"
    basis = f"a report of {length:,} {unit} in {SECTIONS} sections"
    return _expected(scope, inputs, _text(scope) / likely, calls=(1, likely, max(calls.values())), basis=basis)


def analyze(scope: Scope, wanted: bool) -> Expected:
    """Expect a call where it is on; where the question decides, as it seems to be `wanted`."""
    mode = scope.mode("analyze")
    calls = {"off": (0, 0, 0), "on": (1, 1, 1)}.get(mode, (0, int(wanted), 1))
    return _expected(scope, BEST * (_quote(scope) + _SLIM), 2_400, calls=calls)


def chart_plan(scope: Scope) -> Expected:
    """Expect a call where charts can be drawn, except where they are off."""
    on = scope.draws and scope.mode("chart") != "off" and scope.settings.charts.max > 0
    return _expected(scope, _CHARTED * CHARACTERS_PER_TOKEN, 1_800, calls=(0, int(on), int(on)))


def chart_repair(scope: Scope) -> Expected:
    """Expect none; at most a repair of each chart, with the passages of the plan."""
    charts = scope.settings.charts
    most = charts.max * charts.repairs if chart_plan(scope).most else 0
    return _expected(scope, _CHARTED * CHARACTERS_PER_TOKEN, 700, calls=(0, 0, most))


def write(scope: Scope) -> Expected:
    """Expect one call over all sections; none where one writes them anew, unless that fails."""
    likely = int(scope.settings.report.write == "compose")
    return _expected(scope, _PLAN + _text(scope), 1_500, calls=(likely, likely, 1))


def write_whole(scope: Scope) -> Expected:
    """Expect one call over all sections, as long as they are, where the settings want it."""
    calls = int(scope.settings.report.write == "single")
    return _expected(scope, _PLAN + _text(scope), 1_500 + _text(scope), calls=(0, calls, calls))


def verify_claim(scope: Scope, batch: int) -> Expected:
    """Expect the claims that rules leave open; at most all, once more with what rules found, and points of charts."""
    claims = _length(scope) / _CLAIM_WORDS / (2 if _cjk(scope) else 1)
    likely, most = max(1, round(claims * _OPEN / batch)), 2 * -(-round(claims) // batch)
    charts = int(bool(chart_plan(scope).most and scope.draws))
    return _expected(scope, _CLAIM * claims * _OPEN / likely, 300, calls=(0, likely, most + charts))


def repair_claim(scope: Scope) -> Expected:
    """Expect none: what is cited is borne as a rule; at most, where claims are weakened, each is said anew."""
    claims = _length(scope) / _CLAIM_WORDS / (2 if _cjk(scope) else 1)
    most = -(-round(claims) // 20) if scope.settings.verify.unsupported == "weaken" else 0
    return _expected(scope, 20 * _CLAIM, 20 * _CLAIM / 3, calls=(0, 0, most))


def explore(scope: Scope, steps: int, page: int) -> Expected:
    """Expect a reply that searches, one that reads and one that responds; each is shown all that was brought before."""
    likely = min(steps, 3)
    searched = SECTIONS * scope.settings.search.results_per_query * 300
    read = 2 * SECTIONS * min(page, PAGE)
    inputs = _PLAN + _TOOLS + (searched + (searched + read)) / 3
    return _expected(scope, inputs, 900, calls=(1, likely, steps))
