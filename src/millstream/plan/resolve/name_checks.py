"""Validates names: reserved column names, and object names that become folder names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from millstream.errors import Place, PlanError
from millstream.plan.nodes import Node, Pipeline, Select, Source, TableJoin, UnionAll
from millstream.plan.nodes.traversal import can_retract, inputs_of, nodes_of, operators_of
from millstream.suggestions import same
from millstream.temporal import LateAction

RESERVED_PREFIX = "_ms_"
_CHANGE_COLUMNS = ("_OP",)
_LATE_ROW_COLUMNS = ("_source", "_query", "_lateness_ms")


def reject_reserved_names(pipeline: Pipeline) -> None:
    """Rejects names that collide with columns the engine adds to a user's columns."""
    for node in nodes_of(pipeline.root):
        for name in _user_names(node):
            if name.lower().startswith(RESERVED_PREFIX):
                raise _reserved_name_error(
                    name, f"Names that begin with {RESERVED_PREFIX} are", node.place
                )
    for operator in operators_of(pipeline.root):
        if operator.late.action is LateAction.SIDE_OUTPUT:
            for side in inputs_of(operator):
                _reject_added(side.used, _LATE_ROW_COLUMNS, "late rows", operator.place)
    if can_retract(pipeline.root):
        columns = (column.name for column in pipeline.root.columns)
        _reject_added(columns, _CHANGE_COLUMNS, "results that change", pipeline.root.place)


def _user_names(node: Node) -> Iterable[str]:
    """Yields the columns and aliases that users have named."""
    if isinstance(node, Source | Select | UnionAll):
        return (column.name for column in node.columns)
    aliases = [side.alias for side in inputs_of(node)]
    return [*aliases, node.alias, *node.used] if isinstance(node, TableJoin) else aliases


def _reject_added(
    names: Iterable[str], added: tuple[str, ...], what: str, place: Place | None
) -> None:
    for name in names:
        for own in added:
            if same(name, own):
                raise _reserved_name_error(
                    name, f"The engine adds a column {own} to {what}, so this name is", place
                )


def _reserved_name_error(name: str, why: str, place: Place | None) -> PlanError:
    return PlanError(
        "MS-PLAN-RESERVED-NAME",
        f"{name} cannot be the name of a column or alias here. {why} reserved.",
        fix="Give it another name with AS.",
        place=place,
    )


_NAME = re.compile(r"\w(?:[\w .-]*[\w-])?")
_MAX_BYTES = 200  # file systems allow 255, and some names get a suffix
# Other files and folders of a checkpoint, besides one folder per pipeline.
_RESERVED = ("reference-tables", "catalog.json", "dead-letters.json", "lock", "spark.log")


def check_object_name(kind: str, name: str, place: Place | None) -> None:
    """Rejects a name that is not a safe folder name: its path could leave the checkpoint."""
    if len(name.encode()) > _MAX_BYTES:
        cause = f"has {len(name.encode()):,} bytes; {_MAX_BYTES} are allowed"
    elif not _NAME.fullmatch(name):
        cause = "contains characters that are not allowed in a folder name"
    elif kind == "sink" and name.lower() in _RESERVED:
        cause = "is reserved: a checkpoint contains a file or folder of this name"
    else:
        return
    shown = name if len(name) <= 40 else f"{name[:39]}…"
    raise PlanError(
        "MS-PLAN-NAME",
        f"the name {shown!r} of a {kind} {cause}.",
        fix="Use letters, digits, _, -, and inside the name also . and blanks.",
        place=place,
    )
