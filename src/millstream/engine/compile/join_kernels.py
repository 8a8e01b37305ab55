"""Creates the kernel of each kind of join."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from millstream.engine.compile.join_inputs import CARRIED_HASH, FLAG, PackedSides
from millstream.kernels.core.kernel import Kernel
from millstream.kernels.core.specs import RegularJoinSpec, SessionJoinSpec, TemporalJoinSpec
from millstream.kernels.interval_join.kernel import IntervalJoin as IntervalJoinKernel
from millstream.kernels.interval_join.kernel import IntervalJoinSpec
from millstream.kernels.interval_join.spec import OtherSideWindows
from millstream.kernels.regular_join.kernel import RegularJoin as RegularJoinKernel
from millstream.kernels.session_join.kernel import SessionJoin as SessionJoinKernel
from millstream.kernels.temporal_join.kernel import TemporalJoin as TemporalJoinKernel
from millstream.plan.kinds import join_kind_of
from millstream.plan.nodes import (
    BoundedJoin,
    CrossJoin,
    IntervalJoin,
    Join,
    RegularJoin,
    SessionJoin,
    TemporalJoin,
    WindowJoin,
)
from millstream.temporal import Window

Types = dict[str, pl.DataType]


def kernel_of(node: Join, sides: PackedSides, types: Types) -> Kernel:
    common = {
        "how": node.how,
        "left_keys": sides.left.keys,
        "right_keys": sides.right.keys,
        "left_columns": tuple(field.packet_name for field in sides.left.fields),
        "right_columns": tuple(field.packet_name for field in sides.right.fields),
        "key_is_hash": sides.key_is_hash,
        "late": node.late,
        "limit": node.limit,
    }
    return KERNELS[type(node)](node, sides, types, common)


def _interval(
    node: BoundedJoin, sides: PackedSides, types: Types, common: dict[str, Any]
) -> Kernel:
    if CARRIED_HASH in sides.left.packed_input.schema.names:
        common["left_columns"] += (CARRIED_HASH,)
    spec = IntervalJoinSpec(
        **common,
        lower=node.bounds.lower,
        upper=node.bounds.upper,
        pair_predicate=sides.across,
        retention=node.retention,
        other_windows=_other_windows(node),
    )
    return IntervalJoinKernel(spec, types)


def _other_windows(node: BoundedJoin) -> tuple[OtherSideWindows, OtherSideWindows] | None:
    """The windows of the other side that rows of each side can match, if these are not their
    own."""
    windows = join_kind_of(node).windows(node)
    if windows is None or windows.are_equal:
        return None

    def other(window: Window) -> OtherSideWindows:
        return OtherSideWindows(window.size, window.slide, window.offset, windows.lateness)

    return other(windows.right), other(windows.left)


def _temporal(node: TemporalJoin, _: PackedSides, types: Types, common: dict[str, Any]) -> Kernel:
    spec = TemporalJoinSpec(
        **common,
        direction=node.direction,
        tolerance=node.tolerance,
        deletes=None if node.deletes is None else FLAG,
    )
    return TemporalJoinKernel(spec, types)


def _session(node: SessionJoin, sides: PackedSides, types: Types, common: dict[str, Any]) -> Kernel:
    spec = SessionJoinSpec(
        **common,
        gap=node.gap,
        emit=node.emit,
        lateness=node.lateness,
        pair_predicate=sides.across,
    )
    return SessionJoinKernel(spec, types)


def _regular(node: RegularJoin, sides: PackedSides, types: Types, common: dict[str, Any]) -> Kernel:
    spec = RegularJoinSpec(
        **common, ttl=node.ttl, over_changes=node.over_changes, pair_predicate=sides.across
    )
    return RegularJoinKernel(spec, types)


KERNELS: dict[type[Join], Callable[[Any, PackedSides, Types, dict[str, Any]], Kernel]] = {
    IntervalJoin: _interval,
    WindowJoin: _interval,
    CrossJoin: _interval,
    TemporalJoin: _temporal,
    SessionJoin: _session,
    RegularJoin: _regular,
}
