"""Cost estimates for `leadline explain`: the calls of each task, and the tokens of inputs and replies.

The likely calls follow from the settings; sizes were measured on simulated runs. A test compares the
estimate with a run.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

from leadline.estimates import PAGE, Expected, Scope
from leadline_plugins.prompting.lengths import in_one_call, plan_size, report_length
from leadline_plugins.text import is_cjk, language

# Sections of a plan.
SECTIONS = 5
# Key questions of a section.
_QUESTIONS = 2
# Tokens of a report's text, including its citations.
_TOKENS_PER_WORD, _TOKENS_PER_CHARACTER = 1.5, 0.8
# Tokens of a plan; of a past search.
_OUTLINE, _SEARCH = 500, 30
# Tokens of the headings for a digest.
_HEADINGS = 600
# Tokens of the passages for planning charts.
_CHARTS = 4_000
# Words of a claim; tokens of one with its passages.
_CLAIM_WORDS, _CLAIM = 25, 250
# The share of claims that the judge `exact` leaves open.
_JUDGED = 0.9
# Tokens of the definitions of tools.
_TOOLS = 600


def _language(scope: Scope) -> str:
    wanted = scope.settings.language
    return language(scope.question) if wanted == "auto" else wanted


def _cjk(scope: Scope) -> bool:
    return is_cjk(_language(scope))


def _sections(scope: Scope) -> int:
    """Return the likely sections; an answer has one, and a pipeline that writes none has none."""
    if "synthesize" in scope.stages or not scope.stages:
        size = plan_size(scope.settings, _language(scope))
        return sum(size) // 2 if size else SECTIONS
    return int("answer" in scope.stages)


def _length(scope: Scope) -> int:
    return report_length(scope.settings, _language(scope))


def _text(scope: Scope) -> float:
    """Return the tokens of the report's text, including its citations."""
    return _length(scope) * (_TOKENS_PER_CHARACTER if _cjk(scope) else _TOKENS_PER_WORD)


def _claims(scope: Scope) -> float:
    return _length(scope) / _CLAIM_WORDS / (2 if _cjk(scope) else 1)


def _expected(inputs: float, reply: float, calls: int, basis: str = "") -> Expected:
    return Expected(calls=calls, inputs=round(inputs), reply=round(reply), basis=basis)


def one_call(inputs: int, reply: int) -> Callable[[Scope], Expected]:
    """Expect one call of this size."""
    return lambda _: _expected(inputs, reply, 1)


def clarify(scope: Scope, *, asked: bool) -> Expected:
    """Expect a call if the question is complex or unclear by the rules."""
    return _expected(75, 100, int(asked and scope.mode("clarify") != "off"))


def query(scope: Scope) -> Expected:
    """Expect none, as queries come with the plan and the digest; without these, a call for each round of several."""
    alone = bool(scope.stages) and "plan" not in scope.stages and scope.settings.research.first_queries > 1
    return _expected(_OUTLINE + scope.queries(scope.rounds) * _SEARCH, 200, int(alone))


def digest(scope: Scope) -> Expected:
    """Expect a call per round; of several rounds none for the last."""
    inputs = _OUTLINE + _HEADINGS + scope.settings.research.evidence_tokens / 4 + scope.queries(scope.rounds) * _SEARCH
    return _expected(inputs, 300, min(scope.rounds, max(1, scope.most_rounds - 1)))


def synthesize(scope: Scope) -> Expected:
    """Expect one call for a short report, else a call per section and one for the parts around them."""
    sections = _sections(scope)
    if not sections:
        return _expected(0, 0, 0)
    settings, unit = scope.settings, "characters" if _cjk(scope) else "words"
    basis = f"a report of {_length(scope):,} {unit} in {sections} section{'s' if sections > 1 else ''}"
    book = min(settings.research.section_tokens * _QUESTIONS * sections, settings.research.evidence_tokens)
    inputs, reply = _OUTLINE + min(book, scope.pages * PAGE / 4), _text(scope)
    if "synthesize" not in scope.stages and scope.stages:
        return _expected(inputs, reply, sections, basis)
    if in_one_call(settings, _language(scope), sections):
        return _expected(inputs, reply, 1, basis)
    return _expected(inputs + reply / (sections + 1), reply / sections, sections + 1, basis)


def chart_plan(scope: Scope) -> Expected:
    """Expect a call if charts can be drawn and are not off."""
    on = scope.draws and scope.mode("chart") != "off" and scope.settings.charts.max > 0
    return _expected(_CHARTS, 450, int(on))


def chart_repair(scope: Scope) -> Expected:
    """Expect none."""
    return _expected(_CHARTS, 175, 0)


def condense(scope: Scope) -> Expected:
    """Expect one call with all sections, which returns the numbers of repeated statements."""
    return _expected(_text(scope), 150, 1)


def verify_claim(scope: Scope) -> Expected:
    """Expect the claims that `exact` leaves open, section by section."""
    claims, sections = _claims(scope), _sections(scope)
    if not sections or (scope.stages and "verify" not in scope.stages):
        return _expected(0, 0, 0)
    left, batch = claims * _JUDGED, scope.settings.verify.claims_per_call
    likely = sections * ceil(left / sections / batch) + 1  # one for summary and conclusion
    if in_one_call(scope.settings, _language(scope), sections):
        likely = ceil(left / batch)
    return _expected(_CLAIM * left / likely, 40 * left / likely, likely)


def explore(scope: Scope, steps: int, page: int) -> Expected:
    """Expect a reply that searches, one that reads and one that responds; each has all earlier ones as input."""
    searched = SECTIONS * scope.settings.search.results_per_query * 75
    read = 2 * SECTIONS * min(page, PAGE) / 4
    return _expected(_OUTLINE + _TOOLS + (2 * searched + read) / 3, 225, min(steps, 3))


def think(wanted: bool) -> Expected:
    """Expect a call for a step that the settings have; on average it reads two others."""
    return _expected(75 + 2 * 450, 450, int(wanted))
