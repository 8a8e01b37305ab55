"""Reads predicates over pairs of rows into typed expressions that a kernel evaluates as Spark does.

The declared types of columns determine the type of each part, and conversions are explicit casts,
by the rules of Spark in ANSI mode. A part over one side that the kernel does not compute, such as a
function, becomes an operand that Spark computes for each row of the side; its type must be known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, cast

from sqlglot import exp

from millstream.like_pattern import like_regex
from millstream.plan.build.joins.scalar_types import (
    UnsupportedTypeError,
    Value,
    as_type,
    common_type,
    compare,
    literal_value,
    scalar_type,
)
from millstream.plan.expressions import Expression
from millstream.plan.nodes import UnsupportedPart
from millstream.plan.reject import place_of
from millstream.plan.resolve.expressions import ExpressionReader
from millstream.scalars import (
    Arithmetic,
    ArithmeticOperator,
    Case,
    Cast,
    Comparator,
    Compare,
    Constant,
    IsNull,
    Like,
    Logic,
    Negation,
    Operand,
    PredicateOf,
    ScalarOf,
    ScalarType,
)

COMPARATORS: dict[type[exp.Expr], tuple[Comparator, Comparator]] = {
    exp.EQ: ("=", "="),
    exp.NEQ: ("<>", "<>"),
    exp.LT: ("<", ">"),
    exp.LTE: ("<=", ">="),
    exp.GT: (">", "<"),
    exp.GTE: (">=", "<="),
}
_ARITHMETIC: dict[type[exp.Expr], ArithmeticOperator] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
}
_CALCULATIONS = (*_ARITHMETIC, exp.Neg, exp.Cast)
# In `a = b IS NULL`, Spark compares first and this parser last, unlike with parentheses.
_PREDICATES = (
    *(*COMPARATORS, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Is, exp.In, exp.Between),
    *(exp.Like, exp.ILike, exp.RegexpLike, exp.Escape, exp.Not, exp.And, exp.Or),
)
_LEFT, _RIGHT = frozenset((0,)), frozenset((1,))
_BOOLEAN = ScalarType.BOOLEAN
_NOT_COMPUTED = "the columnar engine does not compute it for pairs of rows"


class UnsupportedPredicateError(Exception):
    """A part of a predicate that a kernel cannot evaluate."""

    def __init__(self, part: UnsupportedPart) -> None:
        self.part = part


def without_parentheses(node: exp.Expr) -> exp.Expr:
    while isinstance(node, exp.Paren):
        node = node.this
    return node


@dataclass(frozen=True, slots=True)
class PairPredicateReader:
    """Reads the predicates of one join."""

    expressions: ExpressionReader

    def read(self, term: exp.Expr) -> PredicateOf[Expression]:
        """Returns the predicate; raises UnsupportedPredicateError if a kernel cannot evaluate
        it."""
        if not self.expressions.is_deterministic(term):
            self._reject(term, "it is not deterministic")
        return self._predicate(term)

    def compare_sides(self, node: exp.Expr) -> Compare[Expression] | None:
        """Returns a comparison of both sides, with the left side's expression as its left operand;
        Spark determines the type in which they are compared."""
        node = without_parentheses(node)
        if type(node) not in COMPARATORS:
            return None
        return self._compare_sides(type(node), node.this, node.expression)

    def _compare_sides(
        self, operator: type[exp.Expr], one: exp.Expr, other: exp.Expr
    ) -> Compare[Expression] | None:
        sides = self.expressions.inputs_read(one), self.expressions.inputs_read(other)
        if sides not in ((_LEFT, _RIGHT), (_RIGHT, _LEFT)):
            return None
        if isinstance(one, _PREDICATES) or isinstance(other, _PREDICATES):
            return None
        one_side, other_side = self.expressions.read(one), self.expressions.read(other)
        if one_side is None or other_side is None:
            return None
        as_is, flipped = COMPARATORS[operator]
        if sides == (_LEFT, _RIGHT):
            return Compare(one_side, as_is, other_side)
        return Compare(other_side, flipped, one_side)

    def _reject(self, node: exp.Expr, reason: str) -> NoReturn:
        text = self.expressions.source_sql(node)
        place = place_of(node, self.expressions.scope.text)
        raise UnsupportedPredicateError(UnsupportedPart(text, reason, place))

    def _predicate(self, node: exp.Expr) -> PredicateOf[Expression]:
        return self._typed(self._value(node), _BOOLEAN, node)

    def _typed(self, value: Value, kind: ScalarType, node: exp.Expr) -> ScalarOf[Expression]:
        try:
            return as_type(value, kind)
        except UnsupportedTypeError as error:
            self._reject(node, str(error))

    def _value(self, node: exp.Expr) -> Value:
        """Returns the typed value of an expression.

        What a kernel does not compute becomes an operand, if it is over one side."""
        node = without_parentheses(node)
        try:
            return self._computed(node)
        except UnsupportedPredicateError:
            operand = self._operand(node)
            if operand is None:
                raise
            return operand

    def _operand(self, node: exp.Expr) -> Value | None:
        """Returns an expression over one side as an operand, if its type is known."""
        sides = self.expressions.inputs_read(node)
        if len(sides) > 1 or not (sides or _is_cast_string(node)):
            return None
        expression = self.expressions.read(node)
        kind = scalar_type(expression.type if expression else None)
        if isinstance(node, _PREDICATES):
            kind = _BOOLEAN
        if expression is None or kind is None:
            return None
        return Value(Operand(expression, next(iter(sides), 0), kind), kind)

    def _computed(  # noqa: PLR0911, a return for each kind of node
        self, node: exp.Expr
    ) -> Value:
        kind = type(node)
        if kind in COMPARATORS:
            return Value(self._comparison(node, kind, node.this, node.expression), _BOOLEAN)
        if kind in _ARITHMETIC:
            return self._arithmetic(node)
        match node:
            case exp.Column():
                return self._column(node)
            case exp.Literal() | exp.Boolean() | exp.Null():
                return self._literal(node)
            case exp.Neg():
                return self._negation(node)
            case exp.Case():
                return self._case(node)
            case exp.If():
                return self._choice(
                    [(self._predicate(node.this), node.args["true"])], node, "false"
                )
            case exp.Cast() if not node.args.get("safe"):
                return self._cast(node)
            case _:
                return Value(self._boolean(node), _BOOLEAN)

    def _boolean(  # noqa: RET503, `_reject` raises
        self, node: exp.Expr
    ) -> PredicateOf[Expression]:
        match node:
            case exp.Not():
                return Logic("not", (self._predicate(node.this),))
            case exp.And() | exp.Or():
                terms = self._predicate(node.this), self._predicate(node.expression)
                return Logic("and" if isinstance(node, exp.And) else "or", terms)
            case exp.Between() if not node.args.get("symmetric"):
                low = self._comparison(node, exp.GTE, node.this, node.args["low"])
                high = self._comparison(node, exp.LTE, node.this, node.args["high"])
                return Logic("and", (low, high))
            case exp.In() if node.expressions and not node.args.get("query"):
                return self._in(node)
            case exp.Is(expression=exp.Null()):
                return self._is_null(node.this)
            case exp.Is(expression=exp.Boolean()):
                truth = self._predicate(node.this)
                term = truth if node.expression.this else Logic("not", (truth,))
                return _true_or_false(term)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                return self._null_safe(node)
            case exp.Like() | exp.Escape():
                return self._like(node)
        self._reject(node, _NOT_COMPUTED)

    def _column(self, node: exp.Column) -> Value:
        operand = self._operand(node)
        if operand is None:
            found = self.expressions.read(node)
            kind = found.type if found else None
            reason = f"its type is {kind.upper()}" if kind else "its type is not declared"
            self._reject(
                node, f"{reason}, so that it needs a CAST to a type that the join computes"
            )
        return operand

    def _literal(self, node: exp.Expr, sign: int = 1) -> Value:
        try:
            return literal_value(node, sign)
        except UnsupportedTypeError as error:
            self._reject(node, str(error))

    def _comparison(
        self, node: exp.Expr, operator: type[exp.Expr], one: exp.Expr, other: exp.Expr
    ) -> PredicateOf[Expression]:
        """Returns a comparison.

        Spark compares two expressions without calculations, one over each side, in any type; a
        calculation may fail, so that it is only evaluated for pairs."""
        if isinstance(one, _PREDICATES) or isinstance(other, _PREDICATES):
            self._reject(node, "a predicate that is compared must be in parentheses")
        pair = self._compare_sides(operator, one, other)
        calculates = any(each.find(*_CALCULATIONS) is not None for each in (one, other))
        if pair is not None and not calculates:
            return pair
        try:
            left, right = self._value(one), self._value(other)
            return compare(left, COMPARATORS[operator][0], right)
        except UnsupportedPredicateError:
            if pair is None:
                raise
        except UnsupportedTypeError as error:
            if pair is None:
                self._reject(node, str(error))
        return pair

    def _arithmetic(self, node: exp.Expr) -> Value:
        if isinstance(node.this, _PREDICATES) or isinstance(node.expression, _PREDICATES):
            self._reject(node, "a predicate has no number")
        left, right = self._value(node.this), self._value(node.expression)
        op = _ARITHMETIC[type(node)]
        try:
            kind = common_type((left, right))
            if op == "/" and kind.is_numeric:
                kind = ScalarType.DOUBLE
            if not kind.is_numeric or kind is ScalarType.FLOAT:
                self._reject(node, f"the join does not calculate with {kind.upper()}")
            return Value(Arithmetic(as_type(left, kind), op, as_type(right, kind), kind), kind)
        except UnsupportedTypeError as error:
            self._reject(node, str(error))

    def _negation(self, node: exp.Neg) -> Value:
        if isinstance(node.this, exp.Literal):
            return self._literal(node.this, -1)
        value = self._value(node.this)
        kind = value.type
        if kind is None or not kind.is_numeric or kind is ScalarType.FLOAT:
            self._reject(node, "the join negates only integers and DOUBLE")
        return Value(Negation(self._typed(value, kind, node), kind), kind)

    def _cast(self, node: exp.Cast) -> Value:
        target = scalar_type(node.to.sql("spark"))
        inside = without_parentheses(node.this)
        if isinstance(inside, exp.Literal) and not inside.is_string and target is not None:
            value = self._literal(inside)
            if value.decimal is not None or isinstance(value.node, Constant):
                return Value(self._typed(value, target, node), target)
        value = self._value(node.this)
        source = value.type
        if source is None or target is None or not _is_computed_cast(source, target):
            self._reject(node, "the join computes only casts to integers and DOUBLE")
        term = self._typed(value, source, node)
        return Value(term if source is target else Cast(term, source, target), target)

    def _case(self, node: exp.Case) -> Value:
        branches = [
            (
                self._predicate(each.this)
                if node.this is None
                else self._comparison(node, exp.EQ, node.this, each.this),
                each.args["true"],
            )
            for each in node.args["ifs"]
        ]
        return self._choice(branches, node, "default")

    def _choice(
        self,
        branches: Sequence[tuple[PredicateOf[Expression], exp.Expr]],
        node: exp.Expr,
        otherwise: str,
    ) -> Value:
        default = node.args.get(otherwise)
        values = [self._value(value) for _, value in branches]
        last = Value() if default is None else self._value(default)
        try:
            kind = common_type((*values, last))
            found = [as_type(value, kind) for value in values]
            pairs = zip((condition for condition, _ in branches), found, strict=True)
            return Value(Case(tuple(pairs), as_type(last, kind), kind), kind)
        except UnsupportedTypeError as error:
            self._reject(node, str(error))

    def _in(self, node: exp.In) -> PredicateOf[Expression]:
        value, items = self._value(node.this), [self._value(each) for each in node.expressions]
        try:
            if not any(each.decimal is not None for each in (value, *items)):
                kind = common_type((value, *items))
                value = Value(as_type(value, kind), kind)
                items = [Value(as_type(each, kind), kind) for each in items]
            terms = tuple(compare(value, "=", each) for each in items)
        except UnsupportedTypeError as error:
            self._reject(node, str(error))
        return terms[0] if len(terms) == 1 else Logic("or", terms)

    def _is_null(self, node: exp.Expr) -> PredicateOf[Expression]:
        value = self._value(node)
        if value.type is None:
            self._reject(node, "a test for NULL needs a value with a type")
        return IsNull(cast("ScalarOf[Expression]", value.node))

    def _null_safe(self, node: exp.Binary) -> PredicateOf[Expression]:
        for each in (node.this, node.expression):
            if isinstance(each, _PREDICATES):
                self._reject(node, "a predicate that is compared must be in parentheses")
        left, right = self._value(node.this), self._value(node.expression)
        if left.type is None or right.type is None:
            self._reject(node, "a null-safe comparison needs values with types")
        try:
            equal = compare(left, "=", right)
        except UnsupportedTypeError as error:
            self._reject(node, str(error))
        one, other = (cast("ScalarOf[Expression]", each.node) for each in (left, right))
        false = Constant(value=False, type=_BOOLEAN)
        found: PredicateOf[Expression] = Case(
            ((IsNull(one), IsNull(other)), (IsNull(other), false)), equal, _BOOLEAN
        )
        return found if isinstance(node, exp.NullSafeEQ) else Logic("not", (found,))

    def _like(self, node: exp.Expr) -> PredicateOf[Expression]:
        like, escape = (
            (node.this, node.expression) if isinstance(node, exp.Escape) else (node, None)
        )
        escape_text = "\\" if escape is None else str(escape.name)
        if not isinstance(like, exp.Like) or len(escape_text) != 1 or escape_text in "'\"":
            self._reject(node, _NOT_COMPUTED)
        string = ScalarType.STRING
        term, pattern = self._value(like.this), self._value(like.expression)
        if pattern.text is not None and like_regex(pattern.text, escape_text) is None:
            self._reject(like.expression, "the pattern is not valid")
        found: PredicateOf[Expression] = Like(
            self._typed(term, string, like.this),
            self._typed(pattern, string, like.expression),
            escape_text,
        )
        return Logic("not", (found,)) if like.args.get("negate") else found


def _true_or_false(term: PredicateOf[Expression]) -> Case[Expression]:
    true, false = (Constant(value=each, type=_BOOLEAN) for each in (True, False))
    return Case(((term, true),), false, _BOOLEAN)


def _is_computed_cast(source: ScalarType, target: ScalarType) -> bool:
    if source is target:
        return True
    if source is _BOOLEAN:
        return target.is_integer
    return source.is_numeric and (target.is_integer or target is ScalarType.DOUBLE)


def _is_cast_string(node: exp.Expr) -> bool:
    return isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and node.this.is_string
