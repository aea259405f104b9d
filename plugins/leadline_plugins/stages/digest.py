"""Stage `digest`: reviews all rounds so far, names the conflicts of sources, and proposes the next searches.

One reply of a model does all three. Without a model the digest stays empty.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from leadline.contracts import StageRun
from leadline.findings import Findings
from leadline.plugin import stage
from leadline.records import Conflict, Evidence, Notice, Source
from leadline.research_findings import (
    DIGEST,
    EVIDENCE,
    FOUND,
    PLAN,
    QUESTION,
    SOURCES,
    TASKS,
    Digest,
    Instruction,
    Plan,
    Question,
    Review,
    SectionReview,
)
from leadline.tasks import TaskKind
from leadline.workers import compute
from leadline_plugins.documents.ranking import indexed, nearest
from leadline_plugins.passages.cutting import tokens_of
from leadline_plugins.passages.ranking import KeyQuestion
from leadline_plugins.passages.selection import PassageBudget, select_passages
from leadline_plugins.prompting import estimates
from leadline_plugins.prompting.fallback import perform_or
from leadline_plugins.prompting.inputs import past_searches, question_input, start_date, template
from leadline_plugins.prompting.numbered_passages import ShownSource, group_by_source, ids_by_number
from leadline_plugins.prompting.research_tasks import DIGEST_EXAMPLE, DigestReply, DigestRequest
from leadline_plugins.prompting.shrinking import halve_shown_passages
from leadline_plugins.stages.plan import publish
from leadline_plugins.stages.prefetch import SearchPrefetch, can_prefetch
from leadline_plugins.stages.query import query_limit, section_ids
from leadline_plugins.stages.review import evidence_of_last_round
from leadline_plugins.text import content_set

# Key questions of a section: in a played run reviews had added 45 to 26, and a passage for each filled the book.
_MOST = 12
# The shares of `research.evidence_tokens` that the prompt shows beside what reviews kept, and that a review may have
# read; characters of all headings: 50 pages of manuals have 380 to 470 headings, 9,000 to 12,000 characters.
_SHOWN, _READ, _HEADINGS = 1 / 4, 1 / 3, 12_000
# A heading of a page: the id of its source, and the path to it.
_Heading = tuple[str, tuple[str, ...]]

TASK = TaskKind(
    "digest",
    DigestRequest,
    DigestReply,
    template("digest"),
    example=DIGEST_EXAMPLE,
    show=DigestRequest.as_text,
    shrink=halve_shown_passages,
    shows=("synthesis",),
    expects=estimates.digest,
)


@stage(
    "Reviews all rounds so far: coverage, conflicts, gaps, next queries",
    needs=(QUESTION, PLAN),
    wants=(EVIDENCE, TASKS, FOUND, SOURCES, DIGEST),
    gives=(DIGEST,),
    may_give=(PLAN,),
    uses=(TASK,),
)
class DigestStage:
    """Keeps one digest of all rounds so far, and adds the key questions that the plan turns out to lack.

    The model is called only if its reply can change something: another round may follow, and this one found passages.
    Otherwise the last digest stays.
    """

    async def run(self, findings: Findings, run: StageRun, /) -> None:
        tasks = findings[TASKS]
        last, number = findings.get(DIGEST), tasks[-1].round if tasks else 1
        new = evidence_of_last_round(findings[EVIDENCE], tasks) if tasks else []
        limit = query_limit(len(tasks), run) if run.rounds_left > 0 else 0
        repeated = last is not None and last.round == number
        wanted = not repeated and (last is None or (limit > 0 and bool(new))) and await run.by_chat(TASK.name)
        digest = (last or Digest()).model_copy(update={"queries": ()})
        if wanted:
            digest = await self._made(findings, run, digest, limit if new else 0)
        findings[DIGEST] = digest.model_copy(update={"round": number})

    async def _made(self, findings: Findings, run: StageRun, last: Digest, limit: int) -> Digest:
        question, plan, tasks, sources = findings[QUESTION], findings[PLAN], findings[TASKS], findings[SOURCES]
        evidence, past = findings[EVIDENCE], past_searches(findings[FOUND], sources) if limit else ()
        request = await digest_request(question, plan, evidence, sources, last, run)
        request = request.model_copy(update={"limit": limit, "past": past})
        task, failed = TASK.of(request), DigestReply()
        if limit and await can_prefetch(TASK, run):
            task = replace(task, heard=SearchPrefetch(question, run, tasks, sources).receive)
        reply = await perform_or(run, task, failed, Notice("this round was not summarized", "not_digested"))
        if reply is failed:
            return last.model_copy(update={"review": None})
        digest = merge_reply(reply, last, request)
        research = run.settings.research
        room = research.evidence_tokens * _READ
        digest = await compute(with_passages_read, digest, reply, plan, evidence, research.section_tokens, room)
        extended = with_questions(plan, digest.review.sections if digest.review else ())
        if extended != plan:
            findings[PLAN] = extended
            await publish(extended, run)
        return digest


async def digest_request(
    question: Question,
    plan: Plan,
    evidence: Sequence[Evidence],
    sources: Sequence[Source],
    last: Digest,
    run: StageRun,
) -> DigestRequest:
    """Return the request to review all passages so far, without searches made before."""
    return DigestRequest(
        question=question_input(question),
        plan=plan.model_copy(update={"queries": ()}),
        last=last if last.round else None,
        pages=await compute(page_headings, sources, evidence, plan),
        sources=group_by_source(await _best_passages(evidence, sources, plan, last, run), sources),
        today=start_date(run),
    )


async def _best_passages(
    evidence: Sequence[Evidence], sources: Sequence[Source], plan: Plan, last: Digest, run: StageRun
) -> list[Evidence]:
    """Return what earlier reviews kept, and the best passages of all rounds for each key question and last gap."""
    texts = [section.questions or (f"{section.title} {section.goal}",) for section in plan.sections]
    asked = [[KeyQuestion(text, run.question) for text in group] for group in (*texts, last.knowledge_gaps) if group]
    research = run.settings.research
    total = research.evidence_tokens * _SHOWN
    answering = [last.answers.get(section.id, ()) for section in plan.sections]
    names = {*chain.from_iterable(answering)}
    total += sum(tokens_of(item.quote) for item in evidence if item.id in names)
    budget = PassageBudget(research.section_tokens, total)
    chosen = await select_passages(evidence, sources, asked, budget, run, answering)
    return list({item.id: item for section in chosen for item in section}.values())


def page_headings(sources: Sequence[Source], evidence: Sequence[Evidence], plan: Plan) -> tuple[str, ...]:
    """Return the titles of all pages read, each with headings by number.

    If a page has too many, those that share most words with the key questions are shown.
    """
    words = content_set(" ".join(question for section in plan.sections for question in section.questions))
    headings: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for number, (source_id, path) in enumerate(_headings(evidence), start=1):
        headings[source_id][number] = " ".join(path[-1].split()) if path else "…"
    every = sum(len(name) for names in headings.values() for name in names.values())
    share = _HEADINGS / max(1, len(sources)) if every > _HEADINGS else _HEADINGS

    def shown(names: Mapping[int, str]) -> str:
        best = sorted(names, key=lambda number: -len(words & content_set(names[number])))
        sizes = accumulate((len(names[number]) for number in best[1:]), initial=0)  # the best is shown in any case
        fitting = {number for number, size in zip(best, sizes, strict=False) if size <= share}
        return "; ".join(f"§{number} {name}" for number, name in names.items() if number in fitting)

    return tuple(f"{source.hit.title}: {shown(headings[source.id])}" for source in sources)


def _headings(evidence: Iterable[Evidence]) -> dict[_Heading, list[Evidence]]:
    """Return the passages below each heading, in the order by which prompts number the headings."""
    below: defaultdict[_Heading, list[Evidence]] = defaultdict(list)
    for item in evidence:
        below[item.source_id, item.path].append(item)
    return below


def with_passages_read(
    digest: Digest, reply: DigestReply, plan: Plan, evidence: Sequence[Evidence], tokens: float, limit: float
) -> Digest:
    """Return the digest with the passages below the headings that a reply names, in its order, up to `most` tokens.

    A part of a page comes whole; of a long one the passages nearest to the key questions of its section, with `tokens`.
    """
    section_id, below = section_ids(plan), _headings(evidence)
    questions = {section.id: " ".join((section.title, section.goal, *section.questions)) for section in plan.sections}
    numbered = dict(enumerate(below, start=1))
    answers = dict(digest.answers)
    known = {*chain.from_iterable(answers.values())}
    named = ((section_id(entry.section), number) for entry in reply.read for number in entry.headings)
    for name, number in dict.fromkeys(named):
        if number not in numbered:
            continue
        passages = _part(numbered[number], below)
        order = dict.fromkeys((*nearest(indexed(passages, {}), questions.get(name, ""), len(passages)), *passages))
        sizes = accumulate(tokens_of(item.quote) for item in order)
        read = {item.id: size for item, size in zip(order, sizes, strict=True) if size <= min(tokens, limit)}
        limit -= 0 if read.keys() <= known else max(read.values(), default=0)
        known |= read.keys()
        answers[name] = tuple(dict.fromkeys((*answers.get(name, ()), *read)))
    return digest.model_copy(update={"answers": answers})


def _part(heading: _Heading, below: Mapping[_Heading, Sequence[Evidence]]) -> list[Evidence]:
    """Return the passages below a heading; of a term in a list also the passage in which its definition begins."""
    source_id, path = heading
    above = below.get((source_id, path[:-1]), ()) if path else ()
    return [*(item for item in above if path[-1] in item.quote), *below[heading]]


def merge_reply(reply: DigestReply, last: Digest, request: DigestRequest) -> Digest:
    """Return the digest of a reply, which names only sections that are not covered."""
    section_id = section_ids(request.plan)
    named = {section_id(section.id): section for section in reply.sections}
    sections = tuple(
        named[section.id].model_copy(update={"id": section.id})
        if section.id in named
        else SectionReview(id=section.id, coverage="covered", depth=1.0)
        for section in request.plan.sections
    )
    added = (question for section in sections for question in section.questions)
    gaps = tuple(dict.fromkeys((*(query.goal or query.query for query in reply.queries), *added)))
    return Digest(
        synthesis=reply.synthesis or last.synthesis,
        section_coverage={section.id: section.coverage for section in sections},
        knowledge_gaps=gaps,
        instructions=tuple(_instructions(reply, request, last)),
        review=Review(sections=sections, is_sufficient=reply.is_sufficient, priority_gaps=gaps),
        queries=reply.queries,
        conflicts=merge_conflicts(last.conflicts, reply, request.sources),
        answers=_answers(reply, request, last),
    )


def _answers(reply: DigestReply, request: DigestRequest, last: Digest) -> dict[str, tuple[str, ...]]:
    """Return the passages that all reviews kept for each section, those of the last review first."""
    section_id, known = section_ids(request.plan), ids_by_number(request.sources)
    answers = dict(last.answers)
    for named in reply.answers:
        name, passages = section_id(named.section), [known[number] for number in named.passages if number in known]
        answers[name] = tuple(dict.fromkeys((*passages, *answers.get(name, ()))))
    return answers


def _instructions(reply: DigestReply, request: DigestRequest, last: Digest) -> Iterator[Instruction]:
    """Yield the instructions of all rounds, one for each source."""
    sources = {passage.number: source.id for source in request.sources for passage in source.passages}
    seen = {instruction.source_id for instruction in last.instructions}
    yield from last.instructions
    for named in reply.instructions:
        source = sources.get(named.passage, "")
        if source and source not in seen and named.words.strip():
            seen.add(source)
            yield Instruction(source_id=source, words=" ".join(named.words.split()))


def with_questions(plan: Plan, reviews: Sequence[SectionReview]) -> Plan:
    """Return the plan with the key questions that the reviews of its sections add, as far as there is room."""
    added = {review.id: review.questions for review in reviews}
    sections = (
        section.model_copy(
            update={"questions": tuple(dict.fromkeys((*section.questions, *added.get(section.id, ()))))[:_MOST]}
        )
        for section in plan.sections
    )
    return plan.model_copy(update={"sections": tuple(sections)})


def merge_conflicts(last: Sequence[Conflict], reply: DigestReply, shown: Sequence[ShownSource]) -> tuple[Conflict, ...]:
    """Return the conflicts of all rounds: a newer one replaces those that share two passages with it.

    Passages of one source are no conflict.
    """
    known, of = ids_by_number(shown), {passage.id: source.id for source in shown for passage in source.passages}
    new = [
        Conflict(
            about=conflict.about,
            evidence_ids=tuple(dict.fromkeys(known[number] for number in conflict.passages if number in known)),
            primary=known.get(conflict.primary, "") if conflict.primary in conflict.passages else "",
        )
        for conflict in reply.conflicts
    ]
    new = [conflict for conflict in new if len({of[name] for name in conflict.evidence_ids}) > 1]
    renewed = [{*conflict.evidence_ids} for conflict in new]
    return (*(conflict for conflict in last if all(len(ids & {*conflict.evidence_ids}) < 2 for ids in renewed)), *new)
