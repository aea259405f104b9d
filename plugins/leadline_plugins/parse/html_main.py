"""Find the main part of a page, without navigation, teasers and notices.

Names of classes decide alone only where they mean one thing (`navbar`, `cookies`); else they count only for elements
that do not read like text. Nothing that holds over 40 % of the page's text is ever dropped, and where little is left
the whole page is taken. Figures: docs/decisions/0007-documents-and-passages.md.
"""

from __future__ import annotations

import re
from itertools import chain

from leadline_plugins.parse.html_blocks import pieces_in, pieces_of, text_of
from leadline_plugins.parse.html_tree import BLOCKS, Node
from leadline_plugins.parse.layout import Piece

# Words in class names and ids that are never main text.
_ALWAYS = frozenset({
    "ad", "ads", "adsense", "advert", "advertisement", "breadcrumb", "breadcrumbs", "catlinks", "comment",
    "commentlist", "comments", "consent", "cookie", "cookies", "disqus", "editsection", "footer", "gdpr", "login",
    "masthead", "nav", "navbar", "navbox", "navfooter", "navheader", "navigation", "newsletter", "noprint",
    "outbrain", "pager", "pagination", "popup", "modal", "printfooter", "promo", "recirc", "recommendations",
    "recommended", "related", "relatedposts", "respond", "share", "sharedaddy", "shares", "sharing", "signup",
    "social", "socials", "sphinxsidebar", "sponsored", "subscribe", "taboola",
})  # fmt: skip
# Words that name main text on some sites: manuals put boxes into `sidebar`.
_UNLESS_TEXT = frozenset({
    "banner", "byline", "copyright", "credit", "credits", "disclaimer", "dropdown", "feedback", "menu", "meta",
    "popular", "postmeta", "rating", "reflist", "reply", "sidebar", "skip", "sponsor", "subscription", "tag",
    "tagcloud", "tags", "teaser", "teasers", "toc", "toctree", "toolbar", "trending", "widget", "widgets",
})  # fmt: skip
_ROLES = frozenset({
    "alertdialog", "banner", "complementary", "contentinfo", "dialog", "menu", "menubar", "navigation", "search",
    "tablist",
})  # fmt: skip
_BOXES = frozenset({"admonition", "box", "callout", "definition", "note", "sidebar", "tip", "topic", "warning"})
_WORD = re.compile(r"[^\s_-]+")
# Words of class names that name a property of the element.
_MODIFIERS = frozenset({"has", "is", "no", "with", "without"})
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MAIN = frozenset({"articleBody", "mainContentOfPage"})
_PARTS = frozenset({"table", "td", "th", "tr", "dt", "dd", "li", "p", "pre", "h1", "h2", "h3"})
_NAMED_PARTS = frozenset({"p", "li", "table", "h2", "h3"})
_UNBROKEN = frozenset({"p", "ul", "ol", "dl", "pre", "tr", "table", "tbody"})
_TEXTS = frozenset({"p", "ul", "ol", "dl", "pre", "table", "blockquote"})
# Share of the page's text up to which an element is dropped; the second if its tag or name is unambiguous.
_LARGE, _SURE = 0.4, 0.6
# Share of its parent's text from which a child is the main part.
_HOLDS = 0.8
# Share of the page's text under which the main part was missed.
_LITTLE = 0.25
# Pieces before that may be repeated, and the least characters of a repetition.
_NEAR, _REPEATED = 6, 60
_COLONS = (":", "：")


def main_pieces(top: Node) -> list[Piece]:
    """Return the pieces of the main part, and mark the other nodes as dropped."""
    everything = top.mass
    _drop(top, everything or 1)
    _weigh_again(top)
    root = _root(top)
    pieces = pieces_of(root) if root.tag in _UNBROKEN else pieces_in(root)
    pieces = _selected(pieces)
    if root.mass < _LITTLE * everything or (sum(piece.weight for piece in pieces) < 200 and top.total > 400):
        whole = pieces_in(top)
        return _selected(whole) or whole
    if root is not top and not (pieces and pieces[0].kind == "heading" and pieces[0].level == 1):
        title = _title_before(top, root)
        if title and not any(piece.kind == "heading" and piece.text == title.text for piece in pieces):
            pieces.insert(0, title)
    return pieces


def _drop(node: Node, everything: int) -> None:
    titled = any(child.tag == "h1" for child in node.elements)
    for child in node.elements:
        imprint = titled and child.tag == "p" and "copyright" in _words(child.get("class"))
        child.dropped = not imprint and child.mass <= _boilerplate_share(child) * everything
        if not child.dropped:
            _drop(child, everything)


def _boilerplate_share(node: Node) -> float:
    """Return the share of the page's text up to which an element is boilerplate; -1 if it is not."""
    tag, role = node.tag, node.get("role")
    reads = node.mass > 0.5 * node.total and node.mass > 100
    if tag in ("nav", "footer") or (role in _ROLES and not (tag == "aside" and reads)):
        return _SURE
    classes = _words(node.get("class"))
    if tag == "aside":
        return -1 if reads and classes & _BOXES else _SURE
    if tag == "header" and node.mass < 60 and not node.holds(frozenset({"h1", "h2"})):
        return _LARGE
    if tag not in BLOCKS:
        return -1
    named = classes
    if tag != "section" and (identity := node.get("id")) and identity.count("-") + identity.count("_") <= 2:
        named = named | _words(identity)  # longer ids are the slugs of headings
    if tag not in _PARTS:
        if named & _ALWAYS:
            return _LARGE if tag == "article" else _SURE
        return _LARGE if not reads and named & _UNLESS_TEXT else -1
    return _LARGE if tag in _NAMED_PARTS and not reads and classes & (_ALWAYS | _UNLESS_TEXT) else -1


def _words(names: str) -> set[str]:
    """Return the words of class names and ids, also of `commentsContainer`, but not of `has-comments`."""
    parts: set[str] = set()
    for name in names.split():
        words = _WORD.findall(name)
        if _MODIFIERS.isdisjoint(words):
            parts.update(word.lower() for word in chain(words, *map(_CAPITAL.split, words)))
    return parts


def _weigh_again(node: Node) -> int:
    """Subtract dropped nodes from the masses; return the amount."""
    lost = sum(
        child.mass if child.dropped else _weigh_again(child) for child in node.children if not isinstance(child, str)
    )
    node.mass -= lost
    return lost


def _root(top: Node) -> Node:
    """Return the element of the main part."""
    root, least = top, 0.5 * (top.mass or 1)
    nodes = list(top.walk())
    named = (
        node for node in nodes if node.tag == "main" or node.get("role") == "main" or node.get("itemprop") in _MAIN
    )
    root = min((node for node in named if node.mass > least), key=lambda node: node.mass, default=root)
    articles = [node for node in root.walk() if node.tag == "article" and node.mass > 0.5 * root.mass]
    root = max(articles, key=lambda node: node.mass, default=root)
    while root.mass:
        parts = [node for node in root.elements if node.tag in BLOCKS]
        part = max(parts, key=lambda node: node.mass, default=None)
        if part is None or part.mass < _HOLDS * root.mass or part.tag in _UNBROKEN:
            return root
        kind, others = _kind(part), [element for element in root.elements if element is not part and element.total]
        chapters = part.tag in ("section", "div", "article") and any(_kind(other) == kind for other in others)
        if chapters or any(other.tag in _TEXTS and other.mass for other in others):
            return root  # one chapter of several, or a table after its introduction
        root = part
    return root


def _kind(node: Node) -> tuple[str, str]:
    return node.tag, node.get("class").partition(" ")[0]


def _title_before(top: Node, root: Node) -> Piece | None:
    """Return the title before the main part: the last `h1`, else the last `h2`."""
    titles: dict[int, Piece] = {}
    for node in top.walk():
        if node is root:
            break
        if node.tag in ("h1", "h2") and (text := text_of(node)[0]):
            titles[int(node.tag[1])] = Piece("heading", text, level=int(node.tag[1]))
    return titles.get(1) or titles.get(2)


def _selected(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces without lists of links, cards and empty headings."""
    selected: list[Piece] = []
    for piece in pieces:
        led = bool(selected) and selected[-1].kind == "paragraph" and selected[-1].text.endswith(_COLONS)
        if (led or not _only_links(piece)) and not _repeats(piece, selected[-_NEAR:]):
            selected.append(piece)
    return _with_content(_without_cards(selected))


def _repeats(piece: Piece, before: list[Piece]) -> bool:
    """Return whether a paragraph repeats a recent one: galleries repeat captions."""
    if piece.kind not in ("paragraph", "caption") or len(piece.text) < _REPEATED:
        return False
    inner = (part for other in before for item in other.items for part in item.pieces)
    return any(part.text == piece.text for part in chain(before, inner))


def _only_links(piece: Piece) -> bool:
    size = max(1, _length(piece))
    share = piece.links / size
    if piece.kind == "paragraph":
        return share > 0.75 and size < 200
    if piece.kind in ("table", "definition"):
        return share > 0.85
    if piece.kind != "list":
        return False
    inner = [part for item in piece.items for part in item.pieces]
    titles = sum(_is_link(part) for part in inner if part.kind in ("paragraph", "heading"))
    cards = sum(_is_card(item.pieces) for item in piece.items)
    return (
        share > 0.7
        or (len(piece.items) > 1 and cards >= 0.6 * len(piece.items))
        or (share > 0.3 and len(piece.items) <= 3 and titles >= 3)
    )


def _is_card(pieces: list[Piece]) -> bool:
    """Return whether an item is a linked title, with a summary."""
    first = pieces[0]
    if first.kind == "heading" and _is_link(first):
        return True
    linked_first = first.kind == "paragraph" and first.links > 0.8 * len(first.text)
    return len(pieces) > 1 and (linked_first or any(piece.kind == "heading" and _is_link(piece) for piece in pieces))


def _is_link(piece: Piece) -> bool:
    return piece.links > 0.6 * max(1, len(piece.text))


def _length(piece: Piece) -> int:
    inner = sum(len(item.term) + sum(map(_length, item.pieces)) for item in piece.items)
    return len(piece.text) + inner + sum(len(cell) for row in piece.rows for cell in row)


def _without_cards(pieces: list[Piece]) -> list[Piece]:
    """Drop runs of three or more linked headings or lines, with up to two short paragraphs or one."""
    rest: list[Piece] = []
    start = 0
    while start < len(pieces):
        end, cards = start, 0
        while end < len(pieces) and pieces[end].kind in ("heading", "paragraph") and _is_link(pieces[end]):
            limit = 2 if pieces[end].kind == "heading" else 1
            cards, end = cards + 1, end + 1
            for piece in pieces[end : end + limit]:
                if not _is_summary(piece):
                    break
                end += 1
        if cards < 3:
            end = max(end, start + 1)
            rest += pieces[start:end]
        start = end
    return rest


def _is_summary(piece: Piece) -> bool:
    return piece.kind == "paragraph" and not _is_link(piece) and len(piece.text) < 300


def _with_content(pieces: list[Piece]) -> list[Piece]:
    """Drop headings without text before the next heading of their level."""
    rest: list[Piece] = []
    for piece in reversed(pieces):
        below = rest[-1] if rest else None
        if piece.kind == "heading" and (below is None or (below.kind == "heading" and below.level <= piece.level)):
            continue
        rest.append(piece)
    return rest[::-1]
