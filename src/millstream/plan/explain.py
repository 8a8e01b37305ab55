"""A job as a tree to read, or as data. Both are made of the facts that `check` derives."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field

from millstream.plan.check import (
    JoinFacts,
    PipelineFacts,
    SideFacts,
    check_job,
    hold_of,
    join_facts,
    moved,
    name_of,
)
from millstream.plan.explain_json import explain_json
from millstream.plan.nodes import Input, Job, Node, Select, SinkDef, Source
from millstream.plan.secrets import masked, options_text
from millstream.temporal import LateAction, LatePolicy, StateLimit, format_span

__all__ = ["explain", "explain_json"]

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


def explain(job: Job) -> str:
    """The job as a tree, at most 100 columns wide."""
    facts = check_job(job)
    blocks = [_pipeline(each) for each in facts]
    settings = tuple((name, masked(name, value)) for name, value in job.settings)
    lines = _lines(Block("Job", settings, tuple(blocks)), "", "")
    return "\n".join(lines) + "\n"


def _lines(block: Block, first: str, rest: str) -> list[str]:
    """The block's lines; `first` stands before its title, `rest` before every other line."""
    lines = _wrapped(block.title, first, rest)
    stem = rest + ("│  " if block.children else "   ")
    for label, text in block.facts:
        indent = stem + " " * (max(_LABEL, len(label) + 1))
        lines += _wrapped(text, stem + f"{label} ".ljust(_LABEL), indent)
    for number, child in enumerate(block.children):
        last = number == len(block.children) - 1
        lines += _lines(child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
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


def _pipeline(facts: PipelineFacts) -> Block:
    pipeline = facts.pipeline
    told = [("engine", f"{facts.engine}: {facts.reason}"), ("strategy", str(facts.strategy))]
    if pipeline.emit:
        told.append(("emit", str(pipeline.emit)))
    sink = _sink(pipeline.sink, _node(pipeline.root))
    return Block(f"Pipeline {pipeline.name}", tuple(told), (sink,))


def _sink(sink: SinkDef, below: Block) -> Block:
    options = (("options", options_text(sink.options)),) if sink.options else ()
    return Block(f"Sink {sink.name}: {sink.connector}", options, (below,))


def _node(node: Node, alias: str | None = None) -> Block:
    called = f" as {alias}" if alias and alias != name_of(node, "") else ""
    if isinstance(node, Source):
        return _source(node, called)
    if isinstance(node, Select):
        return _select(node, called)
    return _join(join_facts(node))


def _select(select: Select, called: str) -> Block:
    told = [("columns", ", ".join(_output_text(o.sql, o.name) for o in select.outputs))]
    if select.where:
        told.append(("where", select.where))
    hold = hold_of(select)
    told.append(("time", str(hold) if hold else "none: no output is an event time"))
    below = _node(select.input, select.alias)
    return Block(f"Select{called}", tuple(told), (below,))


def _output_text(sql: str, name: str) -> str:
    return sql if sql.rsplit(".", 1)[-1] == name else f"{sql} AS {name}"


def _source(source: Source, called: str) -> Block:
    told = [("columns", ", ".join(f"{c.name} {c.type or '?'}" for c in source.columns))]
    if source.watermark:
        delay = format_span(source.watermark.delay)
        told.append(("watermark", f"{source.watermark.column}, delay {delay}"))
        told.append(("no time", _MISSING[source.missing_time]))
    else:
        told.append(("watermark", "none"))
    letters = f" to {source.dead_letter}" if source.dead_letter else ""
    told.append(("malformed", f"{source.malformed}{letters}"))
    if source.options:
        told.append(("options", options_text(source.options)))
    return Block(f"Source {source.name}{called}: {source.connector}", tuple(told))


_MISSING = {
    "error": "error: a row without an event time stops the job",
    "skip": "skip: a row without an event time is counted and left out",
    "wall_clock": "wall_clock: a row without an event time gets the batch's time",
}


def _join(facts: JoinFacts) -> Block:
    join, left, right = facts.join, facts.left, facts.right
    difference = f"{right.alias}.{right.time} - {left.alias}.{left.time}"
    told = [
        ("key", " and ".join(f"{key.left} = {key.right}" for key in join.keys)),
        ("bound", f"{difference} in {join.bounds}"),
        ("watermark", f"the lesser of {_watermark(left)} and {_watermark(right)}"),
        *facts.predicates,
        ("held", left.why),
        ("", right.why),
        ("state", f"{left.state} and {right.state}, while both keep pace"),
        ("columns", f"held of {left.name}: {_used(join.left)}"),
        ("", f"held of {right.name}: {_used(join.right)}"),
    ]
    if join.retention is not None:
        told.append(("retention", format_span(join.retention)))
    told += [("late", late_text(join.late)), ("limit", limit_text(join.limit))]
    told += [("comes out" if n == 0 else "", text) for n, text in enumerate(facts.comes_out)]
    children = (
        _node(join.left.node, left.alias),
        _node(join.right.node, right.alias),
    )
    return Block(
        f"Interval join, {join.how}: {_called(left)}, {_called(right)}", tuple(told), children
    )


def _watermark(side: SideFacts) -> str:
    return f"{side.alias}.{moved(side.time, -side.delay)}"


def _called(side: SideFacts) -> str:
    return side.name if side.name == side.alias else f"{side.name} {side.alias}"


def _used(side: Input) -> str:
    return ", ".join(side.used) or "none but key and time"


def late_text(late: LatePolicy) -> str:
    if late.action is LateAction.SIDE_OUTPUT:
        return f"side_output: late rows go to {late.sink or 'the port late'}"
    return "drop: late rows are counted and dropped"


def limit_text(limit: StateLimit) -> str:
    parts = []
    if limit.max_rows is not None:
        parts.append(f"{limit.max_rows} rows")
    if limit.max_bytes is not None:
        parts.append(f"{limit.max_bytes} bytes")
    if not parts:
        return "none"
    then = {"fail": "then the job stops", "evict": "then the oldest rows go, counted"}
    return f"{' or '.join(parts)}, {then[limit.on_limit]}"
