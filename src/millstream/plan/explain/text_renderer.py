"""The document of `explain` as a tree, within 100 columns."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator

from millstream.plan.document import Fact, Job, Line, Query, Section

WIDTH = 100
_LABEL = 11
_SUM = re.compile(r"\S+ [+-] \d+\w+")  # "event_time + 24h" stays on one line
_GLUE = "\x00"


def render_text(job: Job) -> str:
    lines = ["Job"]
    lines += _facts(job.facts, "", below=bool(job.queries))
    for number, query in enumerate(job.queries):
        first, rest = _branch(number == len(job.queries) - 1)
        lines += _query(query, first, rest)
    return "\n".join(lines) + "\n"


def _query(query: Query, first: str, rest: str) -> list[str]:
    """The plan is below the last output of the query."""
    lines = _wrapped(query.title, first, rest) + _facts(query.facts, rest, below=True)
    for number, output in enumerate(query.outputs):
        last = number == len(query.outputs) - 1
        begin, go_on = _branch(last)
        below = (query.root,) if last else ()
        lines += _section(output, below, rest + begin, rest + go_on)
    return lines


def _section(section: Section, below: Iterable[Section], first: str, rest: str) -> list[str]:
    """`first` is before the title, `rest` before every other line."""
    shown = list(_shown(below))
    lines = _wrapped(section.title, first, rest)
    lines += _facts(section.facts, rest, below=bool(shown))
    for number, each in enumerate(shown):
        begin, go_on = _branch(number == len(shown) - 1)
        lines += _section(each, _children(each), rest + begin, rest + go_on)
    return lines


def _children(section: Section) -> Iterator[Section]:
    return (each for child in section.children for each in child.sections)


def _shown(sections: Iterable[Section]) -> Iterator[Section]:
    """Sections with a title; what is below one without takes its place."""
    for each in sections:
        if each.title:
            yield each
        else:
            yield from _shown(_children(each))


def _branch(last: bool) -> tuple[str, str]:
    return ("└─ ", "   ") if last else ("├─ ", "│  ")


def _facts(facts: Iterable[Fact], rest: str, *, below: bool) -> list[str]:
    stem = rest + ("│  " if below else "   ")
    lines: list[str] = []
    for fact in facts:
        for line in fact.lines:
            lines += _fact(line, stem)
    return lines


def _fact(line: Line, stem: str) -> list[str]:
    label, text = line
    indent = stem + " " * max(_LABEL, len(label) + 1)
    return _wrapped(text, stem + f"{label} ".ljust(_LABEL), indent)


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
