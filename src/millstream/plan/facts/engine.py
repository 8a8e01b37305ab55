"""Which engine runs a pipeline, and why that one."""

from __future__ import annotations

from millstream.errors import Place, PlanError
from millstream.plan.facts.comparability import reject_struct_comparison
from millstream.plan.kinds import kind_of
from millstream.plan.nodes import Engine, Join, Operator, Pipeline, Source
from millstream.plan.nodes.traversal import operators_of, sources_of, table_joins_of


def choose_engine(pipeline: Pipeline) -> tuple[Engine, str]:
    """The engine that runs a pipeline, and why that one."""
    operators = operators_of(pipeline.root)
    asked = pipeline.engine
    if not operators:
        reason = "the query keeps no state, so Spark runs it as it stands under either engine"
        return (Engine.NATIVE if asked is Engine.AUTO else asked), reason
    no_columnar = _columnar_limitation(operators)
    no_native = _native_limitation(operators, sources_of(pipeline.root))
    if not no_native and table_joins_of(pipeline.root):
        no_native = "Spark's operators hand on nothing of what a table join says beside its rows"
    if asked is not Engine.NATIVE:
        reject_struct_comparison(operators, native=not no_native)
    if asked is Engine.COLUMNAR and no_columnar:
        raise _engine_error(operators, "columnar", no_columnar)
    if asked is Engine.NATIVE and no_native:
        raise _engine_error(operators, "native", no_native)
    if asked is not Engine.AUTO:
        return asked, "asked for by 'engine'"
    if not no_columnar:
        return Engine.COLUMNAR, _columnar_reason(operators)
    if no_native:
        raise PlanError(
            "MS-PLAN-ENGINE",
            f"no engine can run {_query_phrase(operators)}: for the columnar one, {no_columnar}; "
            f"for the native one, {no_native}.",
            fix="Give up one of the two.",
            place=_place(operators),
        )
    return Engine.NATIVE, no_columnar


def _columnar_reason(operators: tuple[Operator, ...]) -> str:
    if all(isinstance(operator, Join) for operator in operators):
        return "rows are joined by key group against columnar state"
    return "rows are taken by key group against columnar state"


def _columnar_limitation(operators: tuple[Operator, ...]) -> str:
    reasons = (kind_of(operator).columnar_limitation(operator) for operator in operators)
    return next(filter(None, reasons), "")


def _native_limitation(operators: tuple[Operator, ...], sources: tuple[Source, ...]) -> str:
    """Why Spark's own operators cannot run this; empty if they can."""
    if len(operators) > 1:
        return "there is more than one operator with state, and Spark's cannot hand on watermarks"
    (operator,) = operators
    return kind_of(operator).native_limitation(operator) or _native_source_limitation(sources)


def _native_source_limitation(sources: tuple[Source, ...]) -> str:
    if any(source.idle is not None for source in sources):
        return "Spark's watermark waits for a silent source, whatever 'idle.timeout' says"
    if any(source.watermark and source.watermark.every > 1 for source in sources):
        return "Spark's watermark advances with every row, not by 'watermark.every'"
    if any(source.max_ahead for source in sources):
        return "Spark cannot reject rows by 'watermark.max_ahead'"
    return ""


def _query_phrase(operators: tuple[Operator, ...]) -> str:
    only_join = len(operators) == 1 and isinstance(operators[0], Join)
    return "this join" if only_join else "this query"


def _place(operators: tuple[Operator, ...]) -> Place | None:
    return next((operator.place for operator in operators if operator.place), None)


def _engine_error(operators: tuple[Operator, ...], engine: str, reason: str) -> PlanError:
    other = "native" if engine == "columnar" else "columnar"
    return PlanError(
        "MS-PLAN-ENGINE",
        f"the {engine} engine cannot run {_query_phrase(operators)}: {reason}.",
        fix=f"Leave 'engine' out, or try '{other}'.",
        place=_place(operators),
    )
