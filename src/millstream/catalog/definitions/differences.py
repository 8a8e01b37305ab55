"""How two definitions of one name differ, in lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.catalog.model import Column, Dataset, Period, Project


def dataset_differences(old: Dataset | None, new: Dataset) -> Iterator[str]:
    if old is None:
        table = new.table
        key = f", key {', '.join(table.key)}" if table.key else ""
        columns = _count(len(table.columns), "column")
        yield f"{columns}, temporal mode {table.temporal_mode.value}{key}"
        return
    if old.name != new.name:
        yield f"name: {old.name} -> {new.name}"
    if old.status != new.status:
        yield f"status: {old.status.value} -> {new.status.value}"
    if old.table.name != new.table.name:
        yield f"main_table.name: {old.table.name} -> {new.table.name}"
    if old.table.temporal_mode != new.table.temporal_mode:
        modes = old.table.temporal_mode.value, new.table.temporal_mode.value
        yield f"main_table.temporal_mode: {modes[0]} -> {modes[1]}"
    yield from column_differences(old.table.columns, new.table.columns)
    yield from key_difference("main_table.key", old.table.key, new.table.key)
    if old.resolver != new.resolver:
        names = [each.name if each else "none" for each in (old.resolver, new.resolver)]
        changed = "config" if names[0] == names[1] else f"{names[0]} -> {names[1]}"
        yield f"resolver: {changed}"
    if old.description != new.description:
        yield "description"


def column_differences(old: Sequence[Column], new: Sequence[Column]) -> Iterator[str]:
    """Columns that are added, removed or of another type; else whether their order differs."""
    before, after = ({each.name: each.type for each in columns} for columns in (old, new))
    for name in before:
        if name not in after:
            yield f"- column {name} {before[name]}"
    for name, kind in after.items():
        if name not in before:
            yield f"+ column {name} {kind}"
        elif before[name] != kind:
            yield f"~ column {name}: {before[name]} -> {kind}"
    if before == after and list(before) != list(after):
        yield "order of columns"


def key_difference(name: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """A line if two keys differ."""
    if tuple(old) != tuple(new):
        yield f"{name}: {', '.join(old) or 'none'} -> {', '.join(new) or 'none'}"


def period_differences(old: Period | None, new: Period) -> Iterator[str]:
    if old is None:
        inside = f", in {new.parent}" if new.parent else ""
        yield f"{new.level}, {new.start} to {new.end}{inside}"
        return
    for name in ("start", "end", "level", "parent"):
        before, after = getattr(old, name), getattr(new, name)
        if before != after:
            yield f"{name}: {before} -> {after}"


def project_differences(old: Project | None, new: Project) -> Iterator[str]:
    if old is None:
        joins = sum(len(operation.joins) for operation in new.operations)
        operations = _count(len(new.operations), "operation")
        yield f"input {new.input.dataset}, {operations}, {_count(joins, 'join')}"
        return
    if old.input != new.input:
        yield f"input: {_input(old)} -> {_input(new)}"
    if old.output != new.output:
        yield f"output: {old.output.location} -> {new.output.location}"
    if len(old.operations) != len(new.operations):
        yield f"operations: {len(old.operations)} -> {len(new.operations)}"
    for number, (before, after) in enumerate(
        zip(old.operations, new.operations, strict=False), start=1
    ):
        if before.joins != after.joins:
            yield f"operation {number}: joins"
        if before.assignments != after.assignments:
            yield f"operation {number}: assignments"
    if old.resolver_overrides != new.resolver_overrides:
        yield "resolver_overrides"
    if old.description != new.description:
        yield "description"
    if old.status != new.status:
        yield f"status: {old.status.value} -> {new.status.value}"


def _input(project: Project) -> str:
    version = project.input.dataset_version
    return f"{project.input.dataset}" + (f" version {version}" if version else "")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
