"""What a plan gives in Python: an ordinary DataFrame, or several outputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from millstream.api.tables import GivenTables, Table
from millstream.errors import PlanError
from millstream.observe.account import Account, of_operators
from millstream.observe.operator_names import OperatorNames
from millstream.plan.facts.check import check_pipeline, choose_engine
from millstream.plan.names.reserved_names import reject_reserved_names
from millstream.plan.nodes import Engine, Pipeline
from millstream.plan.walk import operators_of, sources_of
from millstream.spark.compile import Query, compile_pipeline
from millstream.spark.control import end_of_input as _say_end
from millstream.spark.ports import OBSERVED, observed_stats
from millstream.temporal import LateAction

KEY_GROUPS = 8  # state is kept by key group, so their number must not change between two runs
WriteBatch = Callable[[DataFrame, int], None]


@dataclass(frozen=True, slots=True)
class Outputs:
    """The outputs of one query: its result, and late rows by the name of their side output."""

    query: Query
    pipeline: Pipeline

    @property
    def names(self) -> tuple[str, ...]:
        """The side outputs."""
        return tuple(dict.fromkeys(name for _, name in self._late()))

    def write(self, rows: WriteBatch, **late: WriteBatch) -> DataStreamWriter:
        """A writer that hands every micro-batch's result to `rows`, its late rows to the function
        of their side output's name. Each is called with a DataFrame and the batch's number; a
        batch that is retried comes again under its number."""
        missing = [name for name in self.names if name not in late]
        unknown = [name for name in late if name not in self.names]
        if missing or unknown:
            raise PlanError(
                "MS-PLAN-LATE-SINK",
                f"the side outputs are {', '.join(self.names)}, and "
                + (f"nobody writes {missing[0]}." if missing else f"{unknown[0]} is none of them."),
                fix=f"Give a function for each: write(rows=…, {self.names[0]}=…).",
            )

        def write(frame: DataFrame, batch: int) -> None:
            caught = self.query.reading.batch(frame)
            # Whatever `rows` does with them, once or in part, the batch runs once and whole.
            main = caught.main.persist()
            main.count()
            side = caught.side()
            try:
                rows(main, batch)
            finally:
                main.unpersist()
            for number, name in self._late():
                found = [
                    (place, table) for (operator, place), table in side.late if operator == number
                ]
                if found:
                    operator = self.query.operators[number]
                    late[name](operator.late_rows(frame.sparkSession, found), batch)

        return self.query.stream.writeStream.foreachBatch(write)

    def _late(self) -> list[tuple[int, str]]:
        return [
            (number, operator.late.sink or "late")
            for number, operator in enumerate(operators_of(self.pipeline.root))
            if operator.late.action is LateAction.SIDE_OUTPUT
        ]


def end_of_input(control: str | Path) -> None:
    """Say, in the `control` folder of a query, that all rows have come: what is held comes out.

    Say it when the query has taken them in (`query.processAllAvailable()`): a row that is read
    after it is late.
    """
    _say_end(Path(control))


def account(query: StreamingQuery) -> Account | None:
    """The account of rows of a running query after its last batch; None before the first.

    Of a query that a DataFrame of this API is written by, with columnar operators.
    """
    observed = [
        (name, observed_stats(found["stats"]))
        for progress in query.recentProgress
        for name, found in progress.observedMetrics.items()
        if name.startswith(OBSERVED) and found["stats"]
    ]
    if not observed:
        return None
    # A batch brings reports only of the operators that it has rows for.
    last: dict[tuple[int, int], dict[str, Any]] = {}
    for name, stats in observed:
        if name == observed[-1][0]:
            last |= {(each["operator"], each["group"]): each for each in stats}
    numbers = range(max(operator for operator, _ in last) + 1)
    names = [OperatorNames(f"operator {number}", (), ()) for number in numbers]
    for (operator, _), each in last.items():
        derived = tuple(name in each["derived"] for name in each["tops"])
        names[operator] = OperatorNames(f"operator {operator}", tuple(each["tops"]), derived)
    top = [each["counts"] for (operator, _), each in last.items() if operator == 0]
    rows_out = sum(
        counts[what]
        for counts in top
        for what in (("rows_out",) if "rows_out" in counts else ("matches", "unmatched"))
    )
    return of_operators(tuple(names), last.values(), rows_out)


def rows_of(
    pipeline: Pipeline,
    frames: Mapping[str, DataFrame],
    control: str | Path | None,
    groups: int,
    tables: Mapping[str, Table] | None = None,
) -> DataFrame:
    _refuse_max_ahead(pipeline)
    for operator in operators_of(pipeline.root):
        if operator.late.action is LateAction.SIDE_OUTPUT:
            raise PlanError(
                "MS-PLAN-LATE-SINK",
                "a DataFrame has no second output for late rows.",
                fix="Call outputs(…) in place of sql(…), take 'late.policy' out, or run the query "
                "with `millstream run`.",
                place=operator.place,
            )
    return _compiled(pipeline, frames, control, groups, tables or {}).rows


def _refuse_max_ahead(pipeline: Pipeline) -> None:
    for source in sources_of(pipeline.root):
        if source.max_ahead:
            raise PlanError(
                "MS-PLAN-MAX-AHEAD",
                f"a DataFrame has no dead-letter queue for rows of {source.name} that are ahead "
                "of time.",
                fix="Leave max_ahead out and filter such rows, or run the query with `millstream "
                "run`.",
            )


def outputs_of(
    pipeline: Pipeline,
    frames: Mapping[str, DataFrame],
    control: str | Path | None,
    groups: int,
    tables: Mapping[str, Table] | None = None,
) -> Outputs:
    _refuse_max_ahead(pipeline)
    return Outputs(_compiled(pipeline, frames, control, groups, tables or {}), pipeline)


def _compiled(
    pipeline: Pipeline,
    frames: Mapping[str, DataFrame],
    control: str | Path | None,
    groups: int,
    tables: Mapping[str, Table],
) -> Query:
    reject_reserved_names(pipeline)
    check_pipeline(pipeline)
    if control is not None:
        Path(control).mkdir(parents=True, exist_ok=True)
    return compile_pipeline(
        next(iter(frames.values())).sparkSession,
        pipeline,
        frames,
        engine=choose_engine(pipeline)[0],
        groups=groups,
        control=None if control is None else str(control),
        tables=GivenTables({name: t.frame for name, t in tables.items() if t.frame is not None}),
    )


def engine_of(name: str) -> Engine:
    try:
        return Engine(name)
    except ValueError:
        raise PlanError(
            "MS-PLAN-ENGINE", f"{name!r} is no engine.", fix=f"Use one of {', '.join(Engine)}."
        ) from None
