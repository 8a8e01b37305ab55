"""Plans ORDER BY … LIMIT: the first rows of each window, emitted when the window closes.

The query without ORDER BY and LIMIT is planned first. Its result is the input of a TopN that is
partitioned by the end of the window. Expressions of ORDER BY that are not in the select list are
added to it as hidden columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from millstream.errors import Place, PlanError
from millstream.plan.build.operator_input import OperatorInput, has_session_windows
from millstream.plan.build.query_operator import QueryOperator, find_query_operator
from millstream.plan.build.query_options import QueryOptions
from millstream.plan.build.row_number_limit import RowLimit, literal_number
from millstream.plan.build.top_n import Ranking, build_top_n, reads_windowed_result
from millstream.plan.build.window_spec import order_of, read_order
from millstream.plan.expressions import Expression, column, template
from millstream.plan.kinds.operator_properties import STATE_LIMITS
from millstream.plan.nodes import WINDOW_TIME, Order, Output, Select, Source, TableJoin
from millstream.plan.nodes.traversal import upstream_of
from millstream.plan.reject import FIRST_ROWS_FIX, is_aggregate, place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.plan.resolve.names import unused_name
from millstream.plan.resolve.scope import Relation, Scope
from millstream.plan.resolve.system_columns import time_of, with_system_columns
from millstream.sql.limits import MAX_ROWS
from millstream.sql.text import SourceText

_ALIAS, _NAME = "ordered", "the query"
_HIDDEN, _TIME = "_order", "_order_time"

PlanSelect = Callable[[exp.Select, QueryOptions], Select]


def has_order_or_limit(tree: exp.Select) -> bool:
    return bool(tree.args.get("order") or tree.args.get("limit"))


def plan_order_by_limit(
    tree: exp.Select, options: QueryOptions, plan: PlanSelect, text: SourceText
) -> Select:
    """Plans a query with ORDER BY or LIMIT; `plan` plans it without them."""
    limit = _read_limit(tree, text)
    terms: list[exp.Expr] = tree.args["order"].expressions
    place = place_of(terms[0], text, options.place)
    if isinstance(terms[0].this, exp.Var | exp.Star):
        word = "ALL" if isinstance(terms[0].this, exp.Var) else "*"
        at = place_of(tree.args["order"], text)
        raise _error(f"ORDER BY {word} is not supported.", "List the columns.", at)
    _reject_changes(options, text)
    below, own = _split_properties(tree, options, text)
    shown = plan(tree, below)
    hidden = _hidden_items(terms, shown)
    result = plan(_with_items(tree, hidden, text), below) if hidden else shown
    stream, end = _windowed_stream(result, text, place)
    names = {number: item.alias for number, item in hidden.items()}
    ranking = Ranking(
        input=stream.input(stream.time, tuple(each.name for each in shown.columns)),
        partition=(end,),
        order=tuple(_read_terms(terms, stream, names, shown)),
        n=0,
        due=end,
        over_changes=stream.over_changes,
        place=place,
        name=stream.name,
        input_is_windowed=reads_windowed_result(stream),
    )
    select = Select(
        input=ranking,
        outputs=tuple(Output(column(None, c.name, c.type), c.name) for c in shown.columns),
        time=shown.time,
        window=shown.window,
        place=options.place,
    )
    return build_top_n(select, limit, own, text, late_columns=ranking.input.used)


def _read_limit(tree: exp.Select, text: SourceText) -> RowLimit:
    order, limit = tree.args.get("order"), tree.args.get("limit")
    if order is None or limit is None:
        clause = order or limit
        assert clause is not None
        missing, cause = (
            ("LIMIT", "the rows of a stream have no end, so they cannot be sorted.")
            if order
            else ("ORDER BY", "LIMIT without ORDER BY selects any rows.")
        )
        raise _error(cause, f"Add {missing}. {FIRST_ROWS_FIX}", place_of(clause, text))
    given = limit.args.get("count") if isinstance(limit, exp.Fetch) else limit.expression
    n = None if given is None else literal_number(given)
    if n is None or not 1 <= n <= MAX_ROWS:
        raise _error(
            "LIMIT is not a number of rows.",
            f"Write a whole number from 1 to {MAX_ROWS:,}.",
            place_of(limit, text, place_of(order, text)),
        )
    return RowLimit(n, True)


def _split_properties(
    tree: exp.Select, options: QueryOptions, text: SourceText
) -> tuple[QueryOptions, QueryOptions]:
    """Returns the options of the query without ORDER BY, and those of the TopN. Limits of state
    apply to both; other properties to the TopN only if the query has no other operator."""
    given, own = options.properties, replace(options, emit=None, kinds=())
    if tree.args.get("joins") or find_query_operator(tree, text) is not QueryOperator.NONE:
        limits = {name: item for name, item in given.items() if name in STATE_LIMITS}
        return options, replace(own, properties=limits)
    return replace(options, properties={}), own


def _reject_changes(options: QueryOptions, text: SourceText) -> None:
    if options.emit is not None and options.emit.name == "CHANGES":
        raise _error(
            "ORDER BY … LIMIT emits rows when their window closes, EMIT CHANGES before.",
            f"Remove EMIT CHANGES. {FIRST_ROWS_FIX}",
            place_of(options.emit, text),
        )


def _hidden_items(terms: Sequence[exp.Expr], shown: Select) -> dict[int, exp.Alias]:
    """Returns the select items to add, by the number of their term of ORDER BY."""
    names = {each.name.lower() for each in shown.columns}
    hidden = {}
    for number, term in enumerate(terms):
        value = term.this
        parts = list(value.walk())
        of_result = all(
            len(each.parts) == 1 and each.name.lower() in names
            for each in parts
            if isinstance(each, exp.Column)
        )
        if of_result and not any(is_aggregate(part) for part in parts):
            continue
        alias = unused_name(f"{_HIDDEN}_{number}", names)
        hidden[number] = exp.Alias(this=value.copy(), alias=exp.to_identifier(alias))
    return hidden


def _with_items(tree: exp.Select, hidden: dict[int, exp.Alias], text: SourceText) -> exp.Select:
    if tree.args.get("distinct") is not None:
        raise _error(
            "ORDER BY of SELECT DISTINCT has an expression that is not selected.",
            "Select it, or order by selected columns.",
            place_of(next(iter(hidden.values())), text),
        )
    found = tree.copy()
    found.set("expressions", [*found.expressions, *hidden.values()])
    return found


def _windowed_stream(
    result: Select, text: SourceText, place: Place | None
) -> tuple[OperatorInput, Expression]:
    """Returns the rows of a query as the input of a TopN, and the end of their window."""
    windowed = _with_hidden_window(result)
    time = time_of(windowed)
    node = with_system_columns(windowed, {time})
    assert isinstance(node, Select)
    end = _window_end(node)
    if end is None or time is None:
        raise _error(
            "ORDER BY … LIMIT selects the first rows of each window when it closes, and this query "
            "has no window of event time.",
            f"Add WINDOW TUMBLING(INTERVAL '1' HOUR). {FIRST_ROWS_FIX}",
            place,
        )
    scope = Scope((Relation(_ALIAS, _NAME, node, place),), text)
    expressions = ExpressionReader(scope)
    stream = OperatorInput(_ALIAS, _NAME, node, time, node.window, expressions, scope, place)
    if has_session_windows(stream):
        raise _error(
            "the session windows of each key are its own, so there are no rows to order.",
            f"Use a TUMBLING or SLIDING window. {FIRST_ROWS_FIX}",
            place,
        )
    return stream, end


def _with_hidden_window(result: Select) -> Select:
    """Returns a query over rows with a window, with the window and the event time of the rows among
    its columns. Other queries are returned unchanged."""
    below, alias = result.input, result.alias
    rows = below.left.node if isinstance(below, TableJoin) else below
    if not isinstance(rows, Select) or rows.window is None:
        return result
    if isinstance(below, TableJoin):
        alias = below.left.alias
    names = [each.name for each in result.columns]
    outputs, window, time = list(result.outputs), result.window, result.time

    def add(name: str, hidden: str) -> str:
        outputs.append(Output(column(alias, name, "TIMESTAMP"), unused_name(hidden, names)))
        return outputs[-1].name

    if window is None:
        window = (add(rows.window[0], rows.window[0]), add(rows.window[1], rows.window[1]))
    if time is None and rows.time is not None:
        time = add(rows.time, _TIME)
    if isinstance(below, TableJoin):
        used = dict.fromkeys((*below.left.used, *rows.window, *([rows.time] if rows.time else [])))
        below = replace(below, left=replace(below.left, used=tuple(used)))
    return replace(result, input=below, outputs=tuple(outputs), window=window, time=time)


def _window_end(node: Select) -> Expression | None:
    """Returns the end of the window of a query's rows; None if they have no window."""
    if node.window is not None:
        return column(_ALIAS, node.window[1], "TIMESTAMP")
    if isinstance(upstream_of(node), Source):
        return None
    for output in node.outputs:
        read = output.expression.column
        if output.name == node.time and read is not None and read.name == WINDOW_TIME:
            time = column(_ALIAS, output.name, "TIMESTAMP")
            return template("timestamp_micros(unix_micros({}) + 1)", time, kind="TIMESTAMP")
    return None


def _read_terms(
    terms: Sequence[exp.Expr], stream: OperatorInput, hidden: Mapping[int, str], shown: Select
) -> Iterator[Order]:
    for number, term in enumerate(terms):
        name, position = hidden.get(number), literal_number(term.this)
        if position is not None:
            if not 1 <= position <= len(shown.columns):
                raise _error(
                    f"ORDER BY {position} is not the number of a column.",
                    f"Write a number from 1 to {len(shown.columns)}, or an expression.",
                    place_of(term, stream.text),
                )
            name = shown.columns[position - 1].name
        if name is None:
            yield read_order(term, stream.input_expressions)
            continue
        kind = next(each.type for each in stream.node.columns if each.name == name)
        yield order_of(term, column(_ALIAS, name, kind))


def _error(cause: str, fix: str, place: Place | None) -> PlanError:
    return PlanError("MS-PLAN-ORDER", cause, fix=fix, place=place)
