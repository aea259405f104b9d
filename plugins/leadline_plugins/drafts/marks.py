"""The marks in a paragraph of a draft: citations in whatever form become `[@id]`, numbers of the model's own go."""

from __future__ import annotations

import re
from typing import NamedTuple

from leadline.citations import cite, cited, cited_only, uncited
from leadline_plugins.citing.marks import NUMBERS, values
from leadline_plugins.drafts.known import SHAPE, SOURCE_SHAPE, Known, shaped
from leadline_plugins.drafts.made import Made
from leadline_plugins.drafts.standing import cites, joined
from leadline_plugins.drafts.statements import bared

_FREE = r"(?<![\w@./:#=&?%+-])"
"""Not within a word, an address of the web or of mail."""
_CALLED = r"(?:src|source|passage|evidence|doc|document|ref)s?[-_\s#.:]{0,2}"
_OWN = (
    rf"[\[【［]\^?(?:{_CALLED}|(?-i:[SPED]))\d{{1,3}}(?:\s?[,;&]\s?(?:{_CALLED}|(?-i:[SPED]))?\d{{1,3}}){{0,20}}[\]】］]"
    r"|\((?:see\s)?(?:src|source|passage|evidence|ref)s?[-_\s#.:]{1,2}\d{1,3}(?:(?:,?\sand|,?\s&|,|;)?\s?\d{1,3}){0,20}\)"
    r"|(?<=[.!?,;:”\"])[¹²³⁴-⁹⁰]{1,3}(?![\w¹²³⁴-⁹⁰])"
    r"|(?<=[a-z]{5})(?<!metre)(?<!meter)(?<!etres)(?<!eters)(?<!miles)(?<!yards)[¹²³⁴-⁹⁰]{1,3}(?=[\s.,;:!?]|\Z)"
)
"""Names that a model gives to what it was shown: `[src-1]`, `[S2]`, `(Source 2)`, `¹`."""
_WRAPPED = re.compile(
    rf"(?:\\cite[a-z]{{0,10}}\*?\s?|[@^])(?=[\[{{]@?{SHAPE})"
    rf"|[\[【［]\s*(?:(?:evidence|passage|source)(?:[_ ]ids?)?\s?[:：=]?\s?)?"
    rf"(?P<ids>\[@?{SHAPE}\](?:[\s,;]{{0,3}}\[@?{SHAPE}\]){{0,20}})\s*(?:†[^\[\]【】]{{0,60}})?[\]】］]",
    re.IGNORECASE,
)
"""What models set around a citation: a command of LaTeX, another bracket, the words `evidence_id`."""
_CELL = re.compile(r"\|[^|\n]*[^|\s][^|\n]*\|[ \t]*\Z"), re.compile(r"[ \t]*(?:\||\n|\Z)")
"""What stands before and behind a mark that is all of a cell of a table, but its first: that may be what it is of."""
_BY_NOBODY = re.compile(
    r"(?:\A|(?<=[.!?。！？]\s)|(?<=\n))"
    r"(?:according to|as (?:shown|noted|stated|reported|described|discussed|seen) (?:in|by)|laut|selon|d['’]après|según"
    r"|secondo|segundo|根[据據]|依[据據])[ \t]*[,，][ \t]*(?P<first>\S)"
    r"|,?[ \t](?:according to|as (?:shown|noted|stated|reported|described) (?:in|by))(?=[ \t]*[.!?])",
    re.IGNORECASE,
)
"""What is left of a sentence that named a source which is none."""
_TOKEN = re.compile(
    # Most signs begin none of these: to say so first takes a fifth of the time.
    rf"""(?=[`$\\<!\[【［({{@¹²³⁴-⁹⁰]|https?:|{SHAPE})(?:
    (?P<code>(?<!`)(?P<ticks>`++)(?P<inside>.{{1,2000}}?)(?<!`)(?P=ticks)(?!`))
    |(?P<kept>\$\$[^$]{{1,2000}}\$\$|\$(?=[^$]{{0,300}}[\\^_={{}}])(?=[^\s$])[^$]{{1,300}}(?<![\s\\])\$(?!\d)
        |\$(?=[^\s$])(?:[^$A-Za-z\n]|[A-Za-z](?![A-Za-z])){{1,100}}(?<![\s\\(])\$(?!\d)
        |\\\((?=.{{0,300}}?[\\^]).{{1,500}}?\\\)
        |\\\[(?![^\]]{{0,80}}{SHAPE})(?:[^\[\]@\\]|\\[^\[\]()@]|\[[^\[\]@]{{0,100}}\]){{1,1000}}+\\\]
        |<https?://[^\s<>]{{1,2000}}>|<?https?://(?:[^\s<>\[\]【】［］]|\[(?!{SHAPE})[\w.:-]{{0,40}}\](?=[=&/\w%?\#]))++)
    |(?P<link>!?\[(?P<label>(?:[^\[\]\\]|\\.|\[[^\[\]]{{0,100}}\]){{0,200}}+)\]
        \((?P<target>[^()\s]{{0,2000}}(?:\([^()\s]{{0,200}}\)[^()\s]{{0,200}})?)(?:\s++"[^"]{{0,300}}")?\s*+\))
    |(?P<own>{_OWN})
    |(?P<sup><sup>(?P<raised>[^<]{{0,300}})</sup>)
    |(?P<number>\[{NUMBERS}\]|{NUMBERS})
    |(?P<year>\[\d{{4,8}}(?:\s?[-–,;/]\s?\d{{1,8}}){{0,9}}\])
    |(?P<double>\[\[(?P<doubled>[^\[\]]{{1,300}})\]\])
    |(?P<square>(?P<escape>(?:\\(?=\[))?)[\[【［]\^?(?P<squared>[^\[\]【】［］]{{1,400}})[\]】］])
    |(?P<round>[({{](?P<rounded>[^(){{}}\[\]]{{1,300}})[)}}])
    |(?P<bare>(?<!\\\[){_FREE}(?:@(?P<name>[\w-]+(?:[.:][\w-]+)*)|{SHAPE}(?![\w-])))
    |(?P<escaped>\\[!-/:-@\[-`{{-~]))""",
    re.DOTALL | re.VERBOSE | re.IGNORECASE,
)
_PARAGRAPH = re.compile(r"\w{0,4}")
"""No place to link to: `Art. [6](1)`."""
_WEB = re.compile(r"<?(?:https?|ftp|mailto):", re.IGNORECASE)
_INNER = re.compile(NUMBERS, re.IGNORECASE)
_RAISED = re.compile(rf"\s*(?:{NUMBERS}|\^?\d{{1,3}}(?:\s?[,–-]\s?\d{{1,3}}){{0,20}})\s*", re.IGNORECASE)
_POWER = re.compile(r"(?:[\d)]|(?<![^\W_])(?:[^\W_]|[kcdmnµμ]m|ft|yd|in|mi|ms|kg|hz))\s?\Z", re.IGNORECASE)
"""What is raised to a power: a figure, a variable, a unit."""
_ENDED = re.compile(r"[^\w\s)>/⁄^`|](?:[*_~ \t]|\[@[^\[\]\s]{1,100}\])*\Z")
_APART = re.compile(r"(?:\A|\s)\Z")
_ISOTOPE = re.compile(r"\s?[A-Z][a-z]?\b")
_MAY_MARK = re.compile(
    rf"[\[【［@<¹²³⁴-⁹]|\((?:see )?(?:src|source|passage|evidence|ref)|{SHAPE}|{SOURCE_SHAPE}", re.IGNORECASE
)
_WIDTH = 600
"""Characters before a mark in which to look for what it stands behind."""
_BRACKET = re.compile(r"([\[【［])|[\]】］]")


class Marked(NamedTuple):
    """A paragraph that cites nothing but known evidence.

    `left_out` counts the marks it lost, `lost` has one for each statement that has no other citation.
    """

    text: str
    left_out: int = 0
    lost: tuple[str, ...] = ()


def marked(text: str, known: Known) -> Marked:
    """Return a paragraph that cites nothing but known evidence, and ends behind a statement that lost its mark."""
    if not may_mark(text):
        return Marked(text)
    made = _made(text, known)
    removed = made.removed
    if not removed:
        return Marked(made.text())
    said, lost = bared(made.text(), removed)
    return Marked(_BY_NOBODY.sub(_without_nobody, said), len(removed), tuple(lost))


def may_mark(text: str) -> bool:
    """Return whether there is something in a text that can be a mark, or a citation."""
    return bool(_MAY_MARK.search(text))


def _made(text: str, known: Known) -> Made:
    text = _WRAPPED.sub(lambda match: match["ids"] or "", text)
    made = Made()
    at = ended = 0
    gone: bool | None = None
    """Whether the mark before went; what is joined to it goes, or stays, with it."""
    while token := _TOKEN.search(text, at):
        made.add(text[at : token.start()])
        follows = gone if gone is not None and joined(text[ended : token.start()]) else None
        said, at = _read(token, known, follows)
        gone, ended = (said is None if token.lastgroup in ("number", "sup", "link", "own") else None), at
        if said is None:
            copied = known.copied(_before(token), token[0])
            at = made.remove("" if copied else token[0], text, at)
        elif cited(said) and not uncited(said):
            at = made.cite(said, text, at)
        else:
            made.add(said)
    made.add(text[at:])
    return made


def _before(token: re.Match[str]) -> str:
    return token.string[max(0, token.start() - _WIDTH) : token.start()]


def _within(text: str, known: Known) -> str:
    """Return what stands within a mark or a link, with what it cites."""
    return _made(text, known).text() if may_mark(text) else text


def _without_nobody(match: re.Match[str]) -> str:
    return match["first"].upper() if match["first"] else ""


def unnumbered(text: str) -> str:
    """Return one line, a title, without numbers that name no source; nothing else of it is touched."""
    return _INNER.sub(lambda match: "" if cites(text, *match.span()) else match[0], text)


def _read(token: re.Match[str], known: Known, follows: bool | None) -> tuple[str | None, int]:
    """Return what stands for a token, None where nothing does; and where to go on reading."""
    kind, end = token.lastgroup or "", token.end()
    if kind == "kept" and "[@" in token[0]:  # no formula cites
        begins = 2 if token[0].startswith(("$$", "\\")) else 1
        return token[0][:begins], token.start() + begins
    match kind:
        case "code":
            return _code(token, known), end
        case "link":
            return _link(token, known, follows), end
        case "sup":
            return _raised(token, known, follows), end
        case "number":
            return _number(token, follows), end
        case "own":
            return _own(token, follows), end
        case "year":
            return _escaped(token[0]), end
        case "bare":
            return _bare(token, known), end
        case "double" | "square" | "round":
            return _bracket(token, kind, known)
    return token[0], end


def _bracket(token: re.Match[str], kind: str, known: Known) -> tuple[str | None, int]:
    """Read a bracket as the citations it holds; of any other go on behind where it opens."""
    if token[0].startswith("[@") and token[0][2:-1] in known.exact:
        return token[0], token.end()
    inside = token["doubled"] or token["squared"] or token["rounded"]
    found = known.read(inside.rstrip("\\"), square=kind != "round", before=_before(token))
    if token["escape"]:
        return (found, token.end()) if found else (token[0][:2], token.start() + 2)
    if found is None:
        return token[0][0], token.start() + 1
    return found or None, token.end()


def _code(token: re.Match[str], known: Known) -> str | None:
    """Return a span of code without what it cites, which stands behind it."""
    found = [name for name in cited(token["inside"]) if name in known.exact]
    rest = uncited(token["inside"])
    if rest == token["inside"]:
        return token[0]
    citations = "".join(map(cite, dict.fromkeys(found)))
    if not rest.strip():
        return citations or None
    return f"{token['ticks']}{rest}{token['ticks']}" + (f" {citations}" if citations else "")


def _link(token: re.Match[str], known: Known, follows: bool | None) -> str | None:
    """Return a link; what is linked from a citation is not where its source is, and a number links nowhere."""
    label, target = token["label"], token["target"]
    rest = token[0][token[0].index("[") + len(label) + 1 :]
    if token[0].startswith("!"):
        return f"![{'' if _RAISED.fullmatch(label) else _within(label, known)}{rest}"
    inside = label[1:-1] if label.startswith("[") and label.endswith("]") else label
    found = cite(inside[1:]) if inside[1:] in known.exact and inside[0] == "@" else known.read(inside, square=True)
    if found is not None:
        return found or None
    label = cited_only(label, known.exact)
    if not _WEB.match(target):
        if _RAISED.fullmatch(label):
            within = target.startswith("#") or cites(token.string, *token.span(), follows)
            return None if within and not _PARAGRAPH.fullmatch(target) else _escaped(f"[{label}]") + rest[1:]
        label = _within(label, known)
    return f"[{label}{rest}"


def _raised(token: re.Match[str], known: Known, follows: bool | None) -> str | None:
    """Return what is raised; a plain number goes behind a sentence or a space: behind a word it is a power."""
    raised, text = token["raised"], token.string
    if not _RAISED.fullmatch(raised):
        said = _within(raised, known)
        if said.strip() and not uncited(said).strip():
            return said.strip()  # how a citation is set is the format's
        return f"<sup>{said}</sup>" if said.strip() else None
    before, behind = text[max(0, token.start() - 120) : token.start()], text[token.end() : token.end() + 4]
    if "[" in raised or follows:
        return None
    if behind[:1].isalpha() or behind.startswith(("/", "⁄")):
        return token[0]
    apart = _APART.search(before)
    if apart and _ISOTOPE.match(behind) and not before.rstrip().endswith((".", "!", "?")):
        return token[0]
    return None if (apart and not _POWER.search(before[-6:])) or _ENDED.search(before) else token[0]


def _number(token: re.Match[str], follows: bool | None) -> str | None:
    """Return None for a mark; an interval and what else it may be stands, so that nobody takes it for one."""
    inner = _INNER.search(token[0])
    mark = inner and values(inner[1]) and cites(token.string, *token.span(), follows)
    if mark or _fills_cell(token):
        return None
    ahead = token.string[max(0, token.start() - 60) : token.start()]
    escapes = (len(ahead) - len(ahead.rstrip("\\"))) % 2  # what stands before it escapes it already
    return _escaped(token[0])[escapes:]


def _fills_cell(token: re.Match[str]) -> bool:
    before, behind = _CELL
    ahead = token.string[max(0, token.start() - 200) : token.start()]
    return bool(before.search(ahead) and behind.match(token.string, token.end()))


def _own(token: re.Match[str], follows: bool | None) -> str | None:
    """Return None for a name that a model gave to a source; one in square brackets may be what the text is about."""
    if token[0][0] not in "[【［" or _fills_cell(token):
        return None
    return None if cites(token.string, *token.span(), follows) else token[0]


def _escaped(text: str) -> str:
    """Return brackets as ones that are no mark; those of other scripts would show what escapes them."""
    return _BRACKET.sub(lambda match: r"\[" if match[1] else r"\]", text)


def _bare(token: re.Match[str], known: Known) -> str | None:
    """Return the citation that an id without a bracket is; of an address or a name whatever it is."""
    said = token[0]
    head = re.split(r"[.:]", said, maxsplit=1)[0]
    for name in (said, head):
        named = name.startswith("@") or shaped(name)
        if named and (found := known.id(name) or known.of_source(name, _before(token))):
            return cite(found) + said[len(name) :]
    return (said[len(head) :] or None) if shaped(head) else said
