"""Text as a tree: blocks with a title, labelled facts and blocks below, within 100 columns."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

WIDTH = 100
_LABEL = 11
_SUM = re.compile(r"\S+ [+-] \d+\w+")  # "event_time + 24h" stays on one line
_GLUE = "\x00"


@dataclass(frozen=True, slots=True)
class Block:
    """A node as text: a title, labelled facts and the nodes below."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    children: tuple[Block, ...] = field(default=())


def labelled(label: str, texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Several facts under one label."""
    return [(label if number == 0 else "", text) for number, text in enumerate(texts)]


def lines_of(block: Block, first: str = "", rest: str = "") -> list[str]:
    """The block's lines; `first` stands before its title, `rest` before every other line."""
    lines = _wrapped(block.title, first, rest)
    stem = rest + ("│  " if block.children else "   ")
    for label, text in block.facts:
        indent = stem + " " * (max(_LABEL, len(label) + 1))
        lines += _wrapped(text, stem + f"{label} ".ljust(_LABEL), indent)
    for number, child in enumerate(block.children):
        last = number == len(block.children) - 1
        begin, go_on = ("└─ ", "   ") if last else ("├─ ", "│  ")
        lines += lines_of(child, rest + begin, rest + go_on)
    return lines


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    lines = textwrap.wrap(
        _SUM.sub(lambda match: match[0].replace(" ", _GLUE), text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace(_GLUE, " ") for line in lines]
