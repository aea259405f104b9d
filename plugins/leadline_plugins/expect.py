"""Cost estimates for `leadline explain`: how often each task is asked, and the tokens of its inputs and its reply.

Least, likely and most calls follow from the settings; sizes were measured on runs of the emulator. A test compares the
estimate with a run.
"""

from __future__ import annotations

from math import ceil

from leadline.expecting import PAGE, Expected, Scope
from leadline_plugins.text import is_cjk, language

SECTIONS, MOST_SECTIONS = 5, 8
"""Sections of a plan: usual, and at most."""
_QUESTIONS = 2
"""Key questions of a section."""
_LENGTH, _CJK_LENGTH = 3_300, 6_600
"""Words (CJK: characters) of a report whose length is not set."""
_TOKENS_PER_WORD, _TOKENS_PER_CHARACTER = 1.5, 0.8
"""Of a report's text with its citations."""
_OUTLINE, _SEARCH = 500, 30
"""Tokens of a plan; of a search that was made."""
_ROUND, _ANALYSIS = 4_000, 6_000
"""Tokens of the passages that a digest, and the analysis, are made from."""
_CHARTS = 4_000
"""Tokens of the passages that charts are planned from."""
_CLAIM_WORDS, _CLAIM = 25, 250
"""Words of a claim; tokens of one with its passages."""
_JUDGED = 0.9
"""The share of claims that no exact rule decides."""
_TOOLS = 600
"""Tokens of the definitions of tools."""


def _cjk(scope: Scope) -> bool:
    wanted = scope.settings.language
    return is_cjk(language(scope.question) if wanted == "auto" else wanted)


def _length(scope: Scope) -> int:
    return scope.settings.report.length or (_CJK_LENGTH if _cjk(scope) else _LENGTH)


def _text(scope: Scope) -> float:
    """Return the tokens of the report's text with its citations."""
    return _length(scope) * (_TOKENS_PER_CHARACTER if _cjk(scope) else _TOKENS_PER_WORD)


def _claims(scope: Scope) -> float:
    return _length(scope) / _CLAIM_WORDS / (2 if _cjk(scope) else 1)


def _expected(inputs: float, reply: float, calls: tuple[int, int, int], basis: str = "") -> Expected:
    """Return it; `calls` at least, likely, at most."""
    least, likely, most = calls
    return Expected(least=least, likely=likely, most=most, inputs=round(inputs), reply=round(reply), basis=basis)


def clarify(scope: Scope, *, asked: bool) -> Expected:
    """Expect a call where the question is complex or unclear by the rules."""
    off = scope.settings.clarify.mode == "off"
    return _expected(75, 100, (0, int(asked and not off), 0 if off or (scope.question and not asked) else 1))


def plan(scope: Scope) -> Expected:
    """Expect one call."""
    return _expected(75, 800, (1, 1, 1))


def query(scope: Scope) -> Expected:
    """Expect none: queries come with the plan and with the digest."""
    return _expected(_OUTLINE + scope.queries(scope.rounds) * _SEARCH, 200, (0, 0, scope.most_rounds))


def digest(scope: Scope) -> Expected:
    """Expect a call a round; of several rounds none for the last that is allowed."""
    inputs = _OUTLINE + _ROUND + scope.queries(scope.rounds) * _SEARCH
    return _expected(inputs, 400, (1, min(scope.rounds, max(1, scope.most_rounds - 1)), scope.most_rounds))


def synthesize(scope: Scope) -> Expected:
    """Expect a call a section, with the passages that its budget of tokens allows."""
    budget = scope.settings.research.section_tokens * (1 + (_QUESTIONS - 1) / 2)
    unit = "characters" if _cjk(scope) else "words"
    basis = f"a report of {_length(scope):,} {unit} in {SECTIONS} sections"
    inputs, reply = _OUTLINE + min(budget, scope.pages * PAGE / 4), _text(scope) / SECTIONS
    return _expected(inputs, reply, (1, SECTIONS, MOST_SECTIONS), basis)


def analyze(scope: Scope, wanted: bool) -> Expected:
    """Expect a call where it is on; with `auto` where the question seems to ask for it."""
    calls = {"off": (0, 0, 0), "on": (1, 1, 1)}.get(scope.mode("analyze"), (0, int(wanted), 1))
    return _expected(_ANALYSIS, 600, calls)


def chart_plan(scope: Scope) -> Expected:
    """Expect a call where charts can be drawn, except where they are off."""
    on = scope.draws and scope.mode("chart") != "off" and scope.settings.charts.max > 0
    return _expected(_CHARTS, 450, (0, int(on), int(on)))


def chart_repair(scope: Scope) -> Expected:
    """Expect none; at most each chart is repaired."""
    charts = scope.settings.charts
    return _expected(_CHARTS, 175, (0, 0, charts.max * charts.repairs if chart_plan(scope).most and scope.draws else 0))


def write(scope: Scope) -> Expected:
    """Expect one call over all sections; none where one call rewrites them."""
    calls = int(scope.settings.report.write == "compose")
    return _expected(_text(scope), 375, (0, calls, calls))


def write_whole(scope: Scope) -> Expected:
    """Expect one call over all sections, with a reply as long as they are, where the settings want it."""
    calls = int(scope.settings.report.write == "single")
    return _expected(_text(scope), 375 + _text(scope), (0, calls, calls))


def verify_claim(scope: Scope, batch: int) -> Expected:
    """Expect the claims that no exact rule decides, each section's by themselves; at most all of them, twice."""
    claims = _claims(scope)
    left = claims * _JUDGED
    likely = SECTIONS * ceil(left / SECTIONS / batch) + 1  # one for summary and conclusion
    most = 2 * (ceil(claims / batch) + MOST_SECTIONS + 1)
    return _expected(_CLAIM * left / likely, 40 * left / likely, (0, likely, most))


def repair_claim(scope: Scope) -> Expected:
    """Expect none; where unsupported claims are weakened, at most each is reworded."""
    most = -(-round(_claims(scope)) // 20) if scope.settings.verify.unsupported == "weaken" else 0
    return _expected(20 * _CLAIM, 7 * _CLAIM, (0, 0, most))


def explore(scope: Scope, steps: int, page: int) -> Expected:
    """Expect a reply that searches, one that reads and one that responds; each is shown all that came before."""
    searched = SECTIONS * scope.settings.search.results_per_query * 75
    read = 2 * SECTIONS * min(page, PAGE) / 4
    return _expected(_OUTLINE + _TOOLS + (2 * searched + read) / 3, 225, (1, min(steps, 3), steps))
