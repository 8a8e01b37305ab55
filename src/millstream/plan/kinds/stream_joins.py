"""What kinds of joins of two streams share."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.plan.document import Description, Fact, data, fact, text
from millstream.plan.document.formats import (
    watermark_text,
    join_key,
    keys_data,
    late_fact,
    limit_fact,
    used_columns_text,
)
from millstream.plan.kinds.base import Matching, OperatorFacts
from millstream.plan.kinds.stream_names import input_name, stream_name, with_alias
from millstream.plan.nodes import BoundedJoin, Input, Join, RegularJoin, TemporalJoin
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
    """`own` are the facts of the kind. `timed`: the join has a watermark, so rows can be late."""
    return Description(
        f"{title}, {join.how}: {side_title(join.left)}, {side_title(join.right)}",
        (
            *opening_facts(join, facts),
            *own,
            *([watermark_fact(join)] if timed else []),
            *predicates,
            fact("held", list(facts.expiry), "held", *facts.expiry),
            fact("state", facts.state_size, "state", facts.state_size),
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
    clocks = f"{watermark_text(join.left)} and {watermark_text(join.right)}"
    return text("watermark", f"the lesser of {clocks}")


def state_columns_fact(join: Join) -> Fact:
    sides = (join.left, join.right)
    return text("columns", *(f"held of {stream_name(s)}: {used_columns_text(s)}" for s in sides))


def emits_fact(facts: OperatorFacts) -> Fact:
    return fact("comes_out", list(facts.emits), "comes out", *facts.emits)


def side_title(side: Input) -> str:
    return with_alias(stream_name(side), side.alias)


def names_of(join: Join) -> tuple[str, str]:
    return input_name(join.left), input_name(join.right)


def salt_fact(join: BoundedJoin | TemporalJoin) -> Fact:
    """What 'join.salt' does, if it is asked for."""
    if join.salt == 1:
        return data("salt", join.salt)
    held = stream_name(join.left if join.how is JoinType.RIGHT else join.right)
    spread = f"rows of a key are spread over {join.salt} groups; {held} is held {join.salt} times"
    return fact("salt", join.salt, "spread", spread)


def matching_of(join: BoundedJoin | RegularJoin) -> Matching:
    return Matching(
        join.left_where, join.right_where, join.across, join.across_sql, join.only_spark
    )


def predicate_facts(join: BoundedJoin | RegularJoin) -> tuple[Fact, ...]:
    """The predicates beside key and bound, each with what or who decides it."""
    what = "filters" if join.how is JoinType.INNER else "decides matching"
    wheres = (join.left_where, join.right_where)
    lines = [("before", f"{each} ({what})") for each in wheres if each]
    if join.across_sql:
        decider = "Spark" if join.only_spark else "the join"
        lines.append(("on pairs", f"{join.across_sql} ({decider} decides)"))
    shown = Fact("predicates", [each for _, each in lines], tuple(lines))
    return shown, data("only_spark", join.only_spark)


def columnar_limitation(join: BoundedJoin | RegularJoin) -> str:
    if join.only_spark and join.how is not JoinType.INNER:
        return "only Spark can decide a predicate of ON that decides matching"
    return ""
