"""Checks the hierarchy of periods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import date, timedelta
from itertools import groupby, pairwise

from millstream.catalog.model import Period
from millstream.errors import CatalogError, Place
from millstream.suggestions import nearest

_DAY = timedelta(days=1)


def check_periods(periods: Iterable[Period], written: Collection[str]) -> None:
    """Raises an error if periods of one level overlap, or if parents are unknown, cyclic or do not
    contain their children. Its position is that of a period in `written`, if one is involved."""
    known = {period.identifier: period for period in periods}
    for period in known.values():
        _check_parent(period, known, written)
    for _, level in _by_level(known.values()):
        for one, other in pairwise(level):
            if other.start <= one.end:
                raise _overlap(one, other, written)


def find_gaps(periods: Iterable[Period]) -> list[tuple[str, date, date]]:
    """Returns the days between the first and the last period of a level that are in none of its
    periods: level, first day, last day."""
    gaps = []
    for name, level in _by_level(periods):
        for one, other in pairwise(level):
            if other.start > one.end + _DAY:
                gaps.append((name, one.end + _DAY, other.start - _DAY))
    return gaps


def _by_level(periods: Iterable[Period]) -> list[tuple[str, list[Period]]]:
    ordered = sorted(periods, key=lambda each: (each.level, each.start, each.end, each.identifier))
    return [(level, list(group)) for level, group in groupby(ordered, lambda each: each.level)]


def _check_parent(period: Period, known: Mapping[str, Period], written: Collection[str]) -> None:
    if period.parent is None:
        return
    place = period.positions.of("parent")
    parent = known.get(period.parent)
    if parent is None:
        raise CatalogError(
            "MS-CATALOG-PERIOD",
            f"the parent {period.parent} of the period {period.identifier} is not defined.",
            fix=nearest(period.parent, known),
            place=place,
        )
    _reject_cycle(period, known, written)
    if period.start < parent.start or period.end > parent.end:
        raise CatalogError(
            "MS-CATALOG-PERIOD",
            f"the period {_days(period)} is not inside of its parent {_days(parent)}.",
            fix="Correct its days, or its parent.",
            place=_place((period, parent), written) or place,
        )


def _reject_cycle(period: Period, known: Mapping[str, Period], written: Collection[str]) -> None:
    chain = [period]
    while (name := chain[-1].parent) is not None and (above := known.get(name)) is not None:
        chain.append(above)
        if above is period:
            raise CatalogError(
                "MS-CATALOG-PERIOD-CYCLE",
                f"periods are their own parents: {' in '.join(each.identifier for each in chain)}.",
                fix="Remove the key parent of one of them, normally of the longest period.",
                place=_place(chain, written),
            )
        if above in chain[:-1]:
            return  # a cycle above this period, which is reported for one of its own periods


def _overlap(one: Period, other: Period, written: Collection[str]) -> CatalogError:
    return CatalogError(
        "MS-CATALOG-PERIOD-OVERLAP",
        f"the periods {_days(one)} and {_days(other)} of the level {one.level} overlap.",
        fix="Correct their days, or give them different levels.",
        place=_place((other, one), written),
    )


def _place(periods: Iterable[Period], written: Collection[str]) -> Place | None:
    return next((each.positions.start for each in periods if each.identifier in written), None)


def _days(period: Period) -> str:
    return f"{period.identifier} ({period.start} to {period.end})"
