"""Rejects operations that Spark does not define for the types of their operands.

Types are known for declared columns, literals, casts and operations on them. What has another type
is accepted: Spark's analyzer decides. Every rule also holds with Spark's ANSI mode disabled.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.expressions.functions import called_name, reject_unknown_function
from millstream.plan.expressions.sql_types import (
    NESTED,
    TEMPORAL,
    Family,
    SqlType,
    any_of,
    sql_type,
)
from millstream.sql.spans import span_of
from millstream.sql.text import SourceText

_ADDITIVE = (exp.Add, exp.Sub)
_ARITHMETIC = (*_ADDITIVE, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_COMPARISONS = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ)
_PREDICATES = (exp.Is, exp.Like, exp.ILike, exp.RegexpLike, exp.Exists, exp.In)
_NUMERIC = "abs ceil ceiling floor round bround sqrt cbrt exp ln log2 log10 sin cos tan sign signum"
_TEXTUAL = "upper lower ucase lcase trim ltrim rtrim btrim initcap replace regexp_replace split"
# What a function accepts as its first argument, and its result.
_FUNCTIONS: dict[str, tuple[Collection[Family], Family | None]] = {
    **{
        name: ({Family.BOOLEAN, Family.BINARY, *TEMPORAL, *NESTED}, Family.NUMBER)
        for name in _NUMERIC.split()
    },
    **{name: (NESTED, Family.STRING) for name in _TEXTUAL.split() if name != "split"},
    "split": (NESTED, Family.ARRAY),
    "length": (NESTED, Family.NUMBER),
    "char_length": (NESTED, Family.NUMBER),
    **{
        name: ({Family.BOOLEAN, Family.NUMBER, Family.BINARY, *NESTED}, Family.NUMBER)
        for name in ("year", "month", "hour", "minute", "second", "quarter", "dayofweek")
    },
    "size": (set(Family) - {Family.ARRAY, Family.MAP}, Family.NUMBER),
    "concat_ws": ((), Family.STRING),
    "date_format": ((), Family.STRING),
    "to_date": ((), Family.DATE),
    "to_timestamp": ((), Family.TIMESTAMP),
    "timestamp_millis": (
        {Family.BOOLEAN, Family.BINARY, *TEMPORAL, *NESTED},
        Family.TIMESTAMP,
    ),
    "current_date": ((), Family.DATE),
    "current_timestamp": ((), Family.TIMESTAMP),
    **dict.fromkeys(
        ("now", "date_trunc", "timestamp_seconds", "make_timestamp"), ((), Family.TIMESTAMP)
    ),
}
_FUNCTIONS["timestamp_micros"] = _FUNCTIONS["timestamp_millis"]
# The families that an aggregate does not accept.
_NOT_NUMBERS = frozenset(Family) - {Family.NUMBER}
_AGGREGATES: dict[str, Collection[Family]] = {
    **dict.fromkeys(("sum", "avg"), _NOT_NUMBERS),
    "approx_percentile": _NOT_NUMBERS - TEMPORAL,
    **dict.fromkeys(("stddev_samp", "stddev_pop", "var_samp", "var_pop"), _NOT_NUMBERS),
    **dict.fromkeys(("min", "max"), (Family.MAP,)),
    **dict.fromkeys(("bool_and", "bool_or"), frozenset(Family) - {Family.BOOLEAN, Family.STRING}),
}


@dataclass(frozen=True, slots=True)
class TypeCheck:
    """Infers the type of an expression, and rejects what is wrong in it.

    `declared` returns the type of a part that is a resolved column; False for other parts.
    """

    text: SourceText
    declared: Callable[[exp.Expr], str | bool | None]

    def infer(self, node: exp.Expr) -> SqlType | None:
        declared = self.declared(node)
        if not isinstance(declared, bool):
            return sql_type(declared)
        reject_unknown_function(node, self.text)
        rule = next(
            (rule for kinds, rule in _RULES if isinstance(node, kinds)), TypeCheck.infer_call
        )
        return rule(self, node)

    def require_condition(self, node: exp.Expr) -> None:
        """Rejects an expression that is known not to be BOOLEAN, as the term of WHERE or ON."""
        found = self.infer(node)
        if found and found.family is not Family.BOOLEAN:
            raise self._error(
                node,
                f"{self._sql(node)} is {found.text}, and a condition must be BOOLEAN.",
                f"Compare it with a value: {self._sql(node)} = ….",
            )

    def _condition(self, node: exp.Expr) -> None:
        """Rejects an operand of AND, OR or NOT, which may be a string."""
        found = self.infer(node)
        if found and found.family not in (Family.BOOLEAN, Family.STRING):
            raise self._error(
                node,
                f"{self._sql(node)} is {found.text}, and a condition must be BOOLEAN.",
                f"Compare it with a value: {self._sql(node)} = ….",
            )

    def infer_literal(self, node: exp.Expr) -> SqlType | None:
        if isinstance(node, exp.Boolean):
            return any_of(Family.BOOLEAN)
        return any_of(Family.STRING if node.is_string else Family.NUMBER)

    def infer_inner(self, node: exp.Expr) -> SqlType | None:
        return self.infer(node.this)

    def infer_cast(self, node: exp.Expr) -> SqlType | None:
        found, target = self.infer(node.this), sql_type(node.args["to"].sql("spark"))
        if found and target and not _castable(found.family, target.family):
            raise self._error(
                node.this,
                f"{self._sql(node.this)} is {found.text}, which cannot be cast to {target.text}.",
                "Cast one of its fields, or use a function for its type.",
            )
        return target

    def infer_element(self, node: exp.Expr) -> SqlType | None:
        found = self.infer(node.this)
        for each in node.expressions:
            self.infer(each)
        if found and found.family not in NESTED:
            raise self._error(
                node.this,
                f"{self._sql(node.this)} is {found.text}, which has no elements.",
                "For a part of a string, write substring(…) or split(…)[0].",
            )
        return None

    def infer_logic(self, node: exp.Expr) -> SqlType | None:
        for each in node.iter_expressions():
            self._condition(each)
        return any_of(Family.BOOLEAN)

    def infer_comparison(self, node: exp.Expr) -> SqlType | None:
        self._compare(node.this, node.expression)
        return any_of(Family.BOOLEAN)

    def infer_between(self, node: exp.Expr) -> SqlType | None:
        self._compare(node.this, node.args["low"])
        self._compare(node.this, node.args["high"])
        return any_of(Family.BOOLEAN)

    def infer_in(self, node: exp.Expr) -> SqlType | None:
        for each in node.expressions:
            self._compare(node.this, each)
        return self.infer_call(node)

    def infer_negative(self, node: exp.Expr) -> SqlType | None:
        found = self.infer(node.this)
        if found and found.family in {Family.BOOLEAN, Family.BINARY, *TEMPORAL, *NESTED}:
            raise self._not_a_number(node.this, found, "-")
        return found if found and found.family is Family.NUMBER else None

    def infer_arithmetic(self, node: exp.Expr) -> SqlType | None:
        sign = _sign(node)
        types = [self.infer(each) for each in (node.this, node.expression)]
        wrong = {Family.BOOLEAN, Family.BINARY, *NESTED}
        if not isinstance(node, _ADDITIVE):
            wrong |= TEMPORAL
        for each, found in zip((node.this, node.expression), types, strict=True):
            if found and found.family in wrong:
                raise self._not_a_number(each, found, sign)
        one, other = types
        if one and other and one.family is Family.TIMESTAMP and other.family is Family.NUMBER:
            raise self._error(
                node,
                f"{self._sql(node.expression)} is {other.text}, and only an INTERVAL can be added "
                f"to a {one.text}.",
                f"Write {self._sql(node.this)} {sign} INTERVAL 1 SECOND.",
            )
        if one and one.family is Family.TIMESTAMP and isinstance(node.expression, exp.Interval):
            return one
        numbers = all(found and found.family is Family.NUMBER for found in types)
        return any_of(Family.NUMBER) if numbers else None

    def _compare(self, one: exp.Expr, other: exp.Expr) -> None:
        left, right = self.infer(one), self.infer(other)
        if left and right and not _comparable(left.family, right.family):
            raise self._error(
                one,
                f"{self._sql(one)} is {left.text} and {self._sql(other)} is {right.text}, which "
                "cannot be compared.",
                "CAST one side to the type of the other, or compare a field of it.",
            )

    def infer_case(self, node: exp.Expr) -> SqlType | None:
        values = []
        for branch in node.args["ifs"]:
            if node.this is None:
                self._condition(branch.this)
            else:
                self._compare(node.this, branch.this)
            values.append(branch.args["true"])
        if default := node.args.get("default"):
            values.append(default)
        return self._common_type(values)

    def infer_if(self, node: exp.Expr) -> SqlType | None:
        self._condition(node.this)
        branches = (node.args.get("true"), node.args.get("false"))
        return self._common_type([each for each in branches if each])

    def _common_type(self, values: list[exp.Expr]) -> SqlType | None:
        """Returns the type of one of several values; rejects values without a common type."""
        # Each value is inferred once: otherwise the time doubles with each level of nesting.
        types = [self.infer(each) for each in values]
        known = [(each, found) for each, found in zip(values, types, strict=True) if found]
        for value, found in known[1:]:
            first, type_ = known[0]
            if not _have_common_type(type_.family, found.family):
                raise self._error(
                    value,
                    f"{self._sql(value)} is {found.text} and {self._sql(first)} is {type_.text}, "
                    "which have no common type.",
                    "CAST one to the type of the other.",
                )
        return _common(types)

    def infer_call(self, node: exp.Expr) -> SqlType | None:
        name = (called_name(node, self.text) or "").lower()
        if name in ("coalesce", "nvl", "ifnull", "greatest", "least"):
            return self._common_type(list(node.iter_expressions()))
        types = [self.infer(each) for each in node.iter_expressions()]
        if isinstance(node, _PREDICATES):
            return any_of(Family.BOOLEAN)
        wrong, result = _FUNCTIONS.get(name, ((), None))
        first, found = next(node.iter_expressions(), None), types[0] if types else None
        if first is not None and found and found.family in wrong:
            raise self._error(
                first,
                f"{self._sql(first)} is {found.text}, which {name} does not accept.",
                "CAST it, or use a function for its type.",
            )
        return any_of(result) if result else None

    def _not_a_number(self, node: exp.Expr, found: SqlType, sign: str) -> PlanError:
        fix = "Compute with one of its fields."
        if found.family is Family.BOOLEAN:
            fix = f"Write CAST({self._sql(node)} AS INT)."
        elif found.family in TEMPORAL:
            fix = "Convert it to a number first, for example with unix_seconds."
        elif found.family is Family.BINARY:
            fix = "Convert it to a number first."
        return self._error(
            node, f"{self._sql(node)} is {found.text}, and {sign} needs numbers.", fix
        )

    def _error(self, node: exp.Expr, cause: str, fix: str) -> PlanError:
        span = span_of(node)
        place = self.text.place(span[0]) if span else None
        return PlanError("MS-PLAN-TYPE", cause, fix=fix, place=place)

    def _sql(self, node: exp.Expr) -> str:
        span = span_of(node)
        return self.text.excerpt(span) if span else node.sql("spark")


_RULES: tuple[tuple[tuple[type, ...], Callable[[TypeCheck, exp.Expr], SqlType | None]], ...] = (
    ((exp.Paren,), TypeCheck.infer_inner),
    ((exp.Literal, exp.Boolean), TypeCheck.infer_literal),
    ((exp.Cast,), TypeCheck.infer_cast),
    ((exp.And, exp.Or, exp.Not), TypeCheck.infer_logic),
    ((exp.Neg,), TypeCheck.infer_negative),
    ((exp.Bracket,), TypeCheck.infer_element),
    ((exp.Case,), TypeCheck.infer_case),
    ((exp.If,), TypeCheck.infer_if),
    (_ARITHMETIC, TypeCheck.infer_arithmetic),
    (_COMPARISONS, TypeCheck.infer_comparison),
    ((exp.Between,), TypeCheck.infer_between),
    ((exp.In,), TypeCheck.infer_in),
)


def reject_aggregate_argument(
    function: str, found: SqlType | None, argument: str, node: exp.Expr, text: SourceText
) -> None:
    """Rejects an argument of an aggregate function whose type it does not accept."""
    if found is None or found.family not in _AGGREGATES.get(function, ()):
        return
    fix = "Aggregate one of its fields, or another column."
    if function in ("bool_and", "bool_or"):
        fix = f"Compare it with a value: {function}({argument} = …)."
    elif found.family is Family.STRING:
        fix = f"Write {function}(CAST({argument} AS DOUBLE))."
    elif found.family is Family.BOOLEAN:
        fix = f"Write {function}(CAST({argument} AS INT))."
    span = span_of(node)
    raise PlanError(
        "MS-PLAN-TYPE",
        f"{argument} is {found.text}, which {function} does not accept.",
        fix=fix,
        place=text.place(span[0]) if span else None,
    )


def _sign(node: exp.Expr) -> str:
    signs: dict[type[exp.Expr], str] = {
        exp.Add: "+",
        exp.Sub: "-",
        exp.Mul: "*",
        exp.Div: "/",
        exp.IntDiv: "DIV",
    }
    return signs.get(type(node), "%")


def _comparable(one: Family, other: Family) -> bool:
    """Returns whether Spark may compare two families, in ANSI mode or without it."""
    if one is other:
        return one is not Family.MAP
    if {one, other} & NESTED:
        return False
    return {one, other} not in (
        {Family.NUMBER, Family.DATE},
        {Family.NUMBER, Family.TIMESTAMP},
        {Family.NUMBER, Family.BINARY},
        {Family.BOOLEAN, Family.DATE},
        {Family.BOOLEAN, Family.TIMESTAMP},
        {Family.BOOLEAN, Family.BINARY},
        {Family.BINARY, Family.DATE},
        {Family.BINARY, Family.TIMESTAMP},
    )


def _have_common_type(one: Family, other: Family) -> bool:
    """Returns whether Spark may find a type for values of two families."""
    if one is other or {one, other} <= TEMPORAL:
        return True
    return Family.STRING in (one, other) and not {one, other} & NESTED


def _castable(one: Family, other: Family) -> bool:
    """Returns whether Spark may cast a family to another one, in ANSI mode or without it."""
    if one is other or other is Family.STRING or one is Family.STRING:
        return other not in NESTED or one is other
    if one in NESTED or other in NESTED:
        return False
    return not (other is Family.DATE and one in (Family.NUMBER, Family.BOOLEAN))


def _common(types: list[SqlType | None]) -> SqlType | None:
    """Returns the type of values that have one of the types, if all are of one family."""
    families = {found.family if found else None for found in types}
    family = families.pop() if len(families) == 1 else None
    if family is None:
        return None
    texts = {found.text for found in types if found}
    return SqlType(family, texts.pop()) if len(texts) == 1 else any_of(family)
