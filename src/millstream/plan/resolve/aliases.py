"""Names of the select list, where a clause after it may use them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from millstream.errors import PlanError
from millstream.plan.expressions import Expression, parenthesise_if_needed
from millstream.plan.nodes import Column
from millstream.plan.resolve.scope import ResolvedName, Scope
from millstream.plan.resolve.select_list import SelectItem
from millstream.sql.spans import span_of


@dataclass(frozen=True, slots=True)
class AliasScope(Scope):
    """A name is a column before it is an alias of the select list."""

    base: Scope | None = None
    aliases: Mapping[str, Expression] = field(default_factory=dict)  # by lower name

    def resolve(self, column: exp.Column) -> ResolvedName:
        assert self.base is not None
        try:
            return self.base.resolve(column)
        except PlanError:
            found = self.aliases.get(column.name.lower())
            if found is None or len(column.parts) > 1:
                raise
        return ResolvedName(
            parenthesise_if_needed(found),
            *(span_of(column) or (0, 0)),
            (),
            Column(column.name),
            False,
        )

    @property
    def is_unqualified(self) -> bool:
        assert self.base is not None
        return self.base.is_unqualified


def with_aliases(scope: Scope, items: list[SelectItem]) -> AliasScope:
    aliases = {item.output.name.lower(): item.output.expression for item in items}
    return AliasScope(scope.relations, scope.text, base=scope, aliases=aliases)
