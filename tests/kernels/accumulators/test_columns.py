"""Cases of accumulators that property tests of whole aggregates do not reach."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from typing import Any

import polars as pl
import pytest
from tests.kernels.aggregate.harness import frame_of, types_of
from tests.kernels.aggregate.oracle import Row

from millstream.aggregate_functions import FUNCTIONS
from millstream.errors import PlanError, RunError
from millstream.kernels.accumulators.columns import Accumulators
from millstream.kernels.core.specs import AggregateSpec, CallSpec

GREATEST = 2**63 - 1


def result(call: CallSpec, frame: pl.DataFrame, kind: Any, cuts: int = 1, **more: Any) -> Any:
    """Of a frame that is cut into parts, which are folded apart and merged."""
    folding = Accumulators([call], weighted=False, **more)
    frame = frame.with_columns(pl.lit(1).alias("g"))
    step = -(-frame.height // cuts)
    parts = [frame.slice(at, step) for at in range(0, frame.height, step)]
    partials = pl.concat([folding.fold(part, ["g"]) for part in parts])
    return folding.finish(folding.merge(partials, ["g"]), {call.name: kind})[0].to_list()[0]


def ints(*values: int | None) -> pl.DataFrame:
    return pl.DataFrame({"_t": range(len(values)), "x": values}, schema_overrides={"x": pl.Int64})


SUM = CallSpec("sum", "a0", "x")


@pytest.mark.parametrize("cuts", [1, 2])
def test_a_sum_that_does_not_fit_a_bigint_is_an_error(cuts: int) -> None:
    with pytest.raises(RunError, match="MS-RUN-OVERFLOW: the sum of x is too large for a BIGINT"):
        result(SUM, ints(GREATEST, 1), pl.Int64, cuts)
    with pytest.raises(RunError, match="MS-RUN-OVERFLOW"):
        result(SUM, ints(-GREATEST, -1, -1, None), pl.Int64, cuts)


@pytest.mark.parametrize("cuts", [1, 2, 4])
def test_a_sum_that_just_fits_is_exact(cuts: int) -> None:
    assert result(SUM, ints(GREATEST - 1, None, None, 1), pl.Int64, cuts) == GREATEST
    assert result(SUM, ints(-GREATEST, None, None, -1), pl.Int64, cuts) == -(2**63)


def test_without_ansi_a_sum_wraps_as_in_spark() -> None:
    assert result(SUM, ints(GREATEST, 1), pl.Int64, ansi=False) == -(2**63)


def test_a_small_type_is_summed_as_bigint() -> None:
    frame = pl.DataFrame({"_t": [1, 2], "x": [120, 100]}, schema_overrides={"x": pl.Int8})
    assert result(SUM, frame, pl.Int64) == 220


def decimals(*values: str, digits: int = 10) -> pl.DataFrame:
    column = pl.Series("x", [Decimal(value) for value in values], dtype=pl.Decimal(digits, 2))
    return pl.DataFrame([pl.Series("_t", range(len(values))), column])


def test_decimals_are_summed_exactly_and_averaged_half_up() -> None:
    frame = decimals("0.01", "0.02", "-9.99")
    assert result(SUM, frame, pl.Decimal(20, 2), 2) == Decimal("-9.96")
    average = CallSpec("avg", "a0", "x")
    halves = decimals("0.01", *["0.00"] * 31)  # 0.0003125
    assert result(average, halves, pl.Decimal(14, 6)) == Decimal("0.000313")
    assert result(average, decimals("-0.01", *["0.00"] * 31), pl.Decimal(14, 6)) == Decimal(
        "-0.000313"
    )


def test_a_decimal_that_does_not_fit_its_type_is_an_error_and_null_without_ansi() -> None:
    frame = decimals("99.99", "0.01")
    with pytest.raises(RunError, match=r"MS-RUN-OVERFLOW: .* Cast .* DECIMAL .* or to DOUBLE\."):
        result(SUM, frame, pl.Decimal(4, 2))
    assert result(SUM, frame, pl.Decimal(4, 2), ansi=False) is None


@pytest.mark.parametrize("cuts", [1, 2])
def test_a_decimal_sum_of_too_many_digits_is_an_error_and_never_wraps(cuts: int) -> None:
    most = "9" * 36 + ".99"
    with pytest.raises(RunError, match="the sum of x has more than 38 digits"):
        result(SUM, decimals(most, most, digits=38), pl.Decimal(38, 2), cuts)
    with pytest.raises(RunError, match="the sum of x has more than 38 digits"):
        result(SUM, decimals("-" + most, "-0.01", digits=38), pl.Decimal(38, 2), cuts)
    frame = decimals(most, "-0.01", digits=38)
    assert result(SUM, frame, pl.Decimal(38, 2), cuts) == Decimal("9" * 36 + ".98")


def test_a_variance_keeps_its_digits_far_from_zero() -> None:
    frame = pl.DataFrame({"_t": range(3), "x": [1e9 + 0.5, 1e9 + 0.25, 1e9 + 0.75]})
    for cuts in (1, 3):
        found = result(CallSpec("var_samp", "a0", "x"), frame, pl.Float64, cuts)
        assert found == pytest.approx(0.0625, rel=1e-9)


@pytest.mark.parametrize("cuts", [1, 7])
def test_many_distinct_values_are_estimated_by_a_sketch(cuts: int) -> None:
    frame = ints(*range(20_000), *range(5_000))
    found = result(CallSpec("approx_count_distinct", "a0", "x"), frame, pl.Int64, cuts)
    assert found == pytest.approx(20_000, rel=0.05)


@pytest.mark.parametrize("cuts", [1, 7])
def test_quantiles_of_many_values_are_values_near_the_rank(cuts: int) -> None:
    values = list(range(20_000))
    random.Random(7).shuffle(values)
    one = CallSpec("approx_percentile", "a0", "x", parameters=(0.25, 1000.0))
    assert result(one, ints(*values), pl.Int64, cuts) == pytest.approx(5_000, abs=100)
    several = CallSpec("approx_percentile", "a0", "x", parameters=(0.5, 0.9))
    found = result(several, ints(*values), pl.List(pl.Int64), cuts)
    assert found == [pytest.approx(10_000, abs=20), pytest.approx(18_000, abs=20)]


def test_calls_of_one_column_share_their_columns() -> None:
    calls = [CallSpec(name, name, "x") for name in ("count", "sum", "avg", "stddev_samp")]
    folded = Accumulators(calls, weighted=False).fold(ints(1, 2).with_columns(g=1), ["g"])
    assert folded.columns.count("count:x") == 1
    assert len(folded.columns) == len(set(folded.columns))


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_of_the_plan_has_an_accumulator(function: str) -> None:
    argument = "b" if function.startswith("bool") else "x"
    by = "y" if function.endswith("_by") else None
    call = CallSpec(
        function, "a0", argument, by=by, parameters=(0.5,) if "perc" in function else ()
    )
    spec = AggregateSpec(("k1",), (call,))
    rows = [Row(0, 1, ("a",), x=3, y=1.0, b=True), Row(1, 2, ("a",), y=2.0)]
    folding = Accumulators(spec.calls, weighted=False)
    partials = folding.merge(folding.fold(frame_of(spec, rows), ["k1"]), ["k1"])
    found = folding.finish(partials, types_of(spec))[0]
    assert found.dtype == types_of(spec)["a0"]
    assert found.len() == 1


@pytest.mark.parametrize("function", ["min", "max", "first", "last", "max_by", "approx_percentile"])
def test_what_cannot_retract_a_row_is_rejected(function: str) -> None:
    with pytest.raises(
        PlanError, match=f"MS-PLAN-RETRACT: {function} does not support retractions"
    ):
        Accumulators([CallSpec(function, "a0", "x")], weighted=True)


def test_the_least_of_lists_is_rejected() -> None:
    frame = pl.DataFrame({"_t": [1], "x": [[1]]})
    with pytest.raises(PlanError, match="MS-PLAN-AGGREGATE"):
        result(CallSpec("min", "a0", "x"), frame, pl.List(pl.Int64))


AVERAGE = CallSpec("avg", "a0", "x")


def long_decimals(*values: str) -> pl.DataFrame:
    found = pl.Series([Decimal(each) for each in values], dtype=pl.Decimal(38, 18))
    return pl.DataFrame({"_t": range(len(values)), "x": found})


@pytest.mark.parametrize("sign", ["", "-"])
def test_an_average_of_more_digits_than_a_decimal_has_is_an_error(sign: str) -> None:
    kind = pl.Decimal(38, 22)
    fits = long_decimals(f"{sign}9999999999999999.5", f"{sign}9999999999999998.5")
    assert result(AVERAGE, fits, kind) == Decimal(f"{sign}9999999999999999")
    frame = long_decimals(*[f"{sign}33333333333333333.5"] * 2)
    with pytest.raises(RunError, match="MS-RUN-OVERFLOW: the average of x has more than 38 digits"):
        result(AVERAGE, frame, kind)
    assert result(AVERAGE, frame, kind, ansi=False) is None


@pytest.mark.parametrize("cuts", [1, 3])
@pytest.mark.parametrize("count", [10, 3000])
def test_nan_is_the_greatest_of_a_percentile(count: int, cuts: int) -> None:
    call = CallSpec("approx_percentile", "a0", "x", parameters=(0.25, 0.75))
    values = [float(n) if n % 2 else float("nan") for n in range(count)]
    frame = pl.DataFrame({"_t": range(count), "x": values})
    low, high = result(call, frame, pl.List(pl.Float64), cuts)
    assert abs(low - count / 2) <= max(1, count * 0.01)
    assert math.isnan(high)
    only = pl.DataFrame({"_t": range(count), "x": [float("nan")] * count})
    assert all(map(math.isnan, result(call, only, pl.List(pl.Float64), cuts)))
