"""Formats streams, plans and ledgers for a console and a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape

from millstream.temporal import format_span


@dataclass(frozen=True, slots=True)
class Summary:
    """The properties of a stream that its repr shows."""

    columns: tuple[tuple[str, str | None], ...]
    time: str | None
    delay: int
    sources: tuple[str, ...]
    operators: tuple[str, ...]

    def lines(self) -> list[tuple[str, str]]:
        time = "none"
        if self.time is not None:
            time = f"{self.time}, watermark delay {format_span(self.delay)}"
        found = [("event time", time), ("sources", ", ".join(self.sources))]
        return found + [("operators", "; ".join(self.operators))] * bool(self.operators)


def stream_text(stream: Summary) -> str:
    columns = ", ".join(
        f"{name}: {kind.lower()}" if kind else name for name, kind in stream.columns
    )
    return "\n".join(
        [f"Stream[{columns}]", *(f"  {name}: {text}" for name, text in stream.lines())]
    )


def stream_html(stream: Summary) -> str:
    columns = [(name, (kind or "").lower()) for name, kind in stream.columns]
    rows = html_table(("column", "type"), columns)
    return f"<div><b>Stream</b>{html_table((), stream.lines())}{rows}</div>"


def html_table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    top = f"<thead><tr>{cells}</tr></thead>" if cells else ""
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(value)}</td>' for value in row)}</tr>" for row in rows
    )
    return f"<table>{top}<tbody>{body}</tbody></table>"


class Text(str):
    """A text of several lines whose repr is the text itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"
