"""Facts that all joins of two streams share."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.plan.document import Description, Fact, data, fact, text
from millstream.plan.document.formats import (
    join_key,
    keys_data,
    late_fact,
    limit_fact,
    used_columns_text,
    watermark_text,
)
from millstream.plan.kinds.base import Matching, OperatorFacts
from millstream.plan.kinds.stream_names import input_name, stream_name, with_alias
from millstream.plan.nodes import BoundedJoin, Input, Join, RegularJoin, SessionJoin, TemporalJoin
from millstream.values import JoinType


def describe_join(
    title: str,
    join: Join,
    facts: OperatorFacts,
    own: Sequence[Fact],
    *,
    timed: bool = True,
    predicates: Sequence[Fact] = (),
) -> Description:
    """Describes a join. `own` are the facts of its kind; `timed`: rows can be late."""
    return Description(
        f"{title}, {join.how}: {side_title(join.left)}, {side_title(join.right)}",
        (
            *opening_facts(join, facts),
            *own,
            *([watermark_fact(join)] if timed else []),
            *predicates,
            fact("expiry", list(facts.expiry), "expiry", *facts.expiry),
            fact("state_size", facts.state_size, "state size", facts.state_size),
            state_columns_fact(join),
            late_fact(join.late, shown=timed),
            limit_fact(join.limit),
            emits_fact(facts),
        ),
    )


def opening_facts(join: Join, facts: OperatorFacts) -> tuple[Fact, ...]:
    return (
        data("how", str(join.how)),
        fact("keys", keys_data(join.keys), "key", join_key(join)),
        fact("strategy", str(facts.strategy), "strategy", str(facts.strategy)),
    )


def watermark_fact(join: Join) -> Fact:
    return text("watermark", f"min({watermark_text(join.left)}, {watermark_text(join.right)})")


def state_columns_fact(join: Join) -> Fact:
    sides = (join.left, join.right)
    return text("in state", *(f"{stream_name(s)}: {used_columns_text(s)}" for s in sides))


def emits_fact(facts: OperatorFacts) -> Fact:
    return fact("emits", list(facts.emits), "emits", *facts.emits)


def side_title(side: Input) -> str:
    return with_alias(stream_name(side), side.alias)


def names_of(join: Join) -> tuple[str, str]:
    return input_name(join.left), input_name(join.right)


def salt_fact(join: BoundedJoin | TemporalJoin) -> Fact:
    """Describes the effect of 'join.salt', if it is set."""
    if join.salt == 1:
        return data("salt", join.salt)
    copied = stream_name(join.left if join.how is JoinType.RIGHT else join.right)
    effect = f"each key is distributed over {join.salt} key groups; {copied} is copied to all"
    return fact("salt", join.salt, "salt", effect)


def matching_of(join: BoundedJoin | RegularJoin) -> Matching:
    return Matching(
        join.left_where, join.right_where, join.across, join.across_sql, join.only_spark
    )


def predicate_facts(join: BoundedJoin | RegularJoin) -> tuple[Fact, ...]:
    """Describes the predicates besides key and bound, with their effect or evaluator."""
    effect = "filter" if join.how is JoinType.INNER else "otherwise no match"
    wheres = (join.left_where, join.right_where)
    lines = [("on rows", f"{each} ({effect})") for each in wheres if each]
    if join.across_sql:
        evaluator = "Spark" if join.only_spark else "the join"
        lines.append(("on pairs", f"{join.across_sql} (evaluated by {evaluator})"))
    shown = Fact("predicates", [each for _, each in lines], tuple(lines))
    return shown, data("only_spark", join.only_spark)


def columnar_limitation(join: BoundedJoin | RegularJoin | SessionJoin) -> str:
    if join.unsupported is None or join.how is JoinType.INNER:
        return ""
    part = join.unsupported
    return f"ON of the {join.how.upper()} JOIN has {part.sql}: {part.reason}"
