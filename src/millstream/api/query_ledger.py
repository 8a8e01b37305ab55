"""The ledger and the end of input of a query that the user writes with Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql.streaming.query import StreamingQuery

from millstream.engine.compile.outputs import METRICS_PREFIX, operator_statistics
from millstream.engine.shuffle.control_stream import end_of_input as _end_input
from millstream.observe.ledger import Ledger, ledger_of_operators
from millstream.observe.operator_names import OperatorNames


def end_of_input(control: str | Path) -> None:
    """Ends the input of a query: windows close, and unmatched rows are emitted.

    Call it when the query has processed all rows (`query.processAllAvailable()`): a row that is
    read after it is late.

    Args:
        control: The folder that `Stream.to_df` or `Stream.outputs` was given as `control`.

    Example:
        >>> frame = orders.deduplicate("order_id", within="1h").to_df(control=folder / "control")
        >>> ms.end_of_input(folder / "control")
    """
    _end_input(Path(control))


def ledger(query: StreamingQuery) -> Ledger | None:
    """Returns the ledger of a query: how many rows each operator read, and what happened to them.

    Args:
        query: A running query over `Stream.to_df()` with columnar operators. A run that
            `Stream.write` started has a `ledger` of its own.

    Returns:
        The ledger after the last batch; None before the first.

    Example:
        >>> frame = orders.deduplicate("order_id", within="1 hour").to_df()
        >>> query = frame.writeStream.format("noop").start()
        >>> query.processAllAvailable()
        >>> ms.ledger(query).total_in
        2
        >>> query.stop()
    """
    observe_statistics = [
        (name, operator_statistics(found["stats"]))
        for progress in query.recentProgress
        for name, found in progress.observedMetrics.items()
        if name.startswith(METRICS_PREFIX) and found["stats"]
    ]
    if not observe_statistics:
        return None
    # A batch reports only the operators that it has rows for.
    last: dict[tuple[int, int], dict[str, Any]] = {}
    for name, stats in observe_statistics:
        if name == observe_statistics[-1][0]:
            last |= {(each["operator"], each["group"]): each for each in stats}
    numbers = range(max(operator for operator, _ in last) + 1)
    names = [OperatorNames(f"operator {number}", (), ()) for number in numbers]
    for (operator, _), each in last.items():
        derived = tuple(name in each["derived_inputs"] for name in each["max_times"])
        names[operator] = OperatorNames(f"operator {operator}", tuple(each["max_times"]), derived)
    top = [each["counts"] for (operator, _), each in last.items() if operator == 0]
    rows_out = sum(
        counts[what]
        for counts in top
        for what in (("rows_out",) if "rows_out" in counts else ("matches", "unmatched"))
    )
    return ledger_of_operators(tuple(names), reversed(range(len(names))), last.values(), rows_out)
