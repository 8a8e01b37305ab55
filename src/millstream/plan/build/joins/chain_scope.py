"""Names over a join whose left side is the result of others."""

from __future__ import annotations

from dataclasses import dataclass, replace

from millstream.plan.build.joins.chain import Lifted
from millstream.plan.nodes import Column
from millstream.plan.resolve.scope import Reference, Scope


@dataclass(frozen=True, slots=True)
class ChainScope(Scope):
    """The relations of FROM so far; those of the left side go by names of its own."""

    left: Lifted | None = None

    @property
    def _left(self) -> Lifted:
        assert self.left is not None
        return self.left

    @property
    def called(self) -> tuple[str, ...]:
        return (*(relation.alias for relation in self.relations), self._left.alias)

    def refer(self, number: int, column: Column) -> Reference:
        below = self._left.planned.scope
        if number < len(below.relations):
            # The name that `*` and users see is the relation's own.
            lifted = self._left.lifted(below.refer(number, column))
            return replace(lifted, column=Column(column.name, lifted.column.type))
        own = self.relations[number].refer(column.name, column.type)
        return Reference(own, 0, 0, ((1, column.name),), column, False, (number, column.name))

    def shared(self, name: str) -> Reference | None:
        own = Scope.shared(self, name)
        if own is not None:
            return own
        below = self._left.planned.scope.shared(name)
        if below is None:
            return None
        return replace(self._left.lifted(below), column=below.column)

    def unknown(self, name: str) -> str:
        return Scope.unknown(self, name) or self._left.planned.scope.unknown(name)

    def shared_names(self, *, last: bool) -> tuple[str, ...]:
        own = Scope.shared_names(self, last=last)
        below = self._left.planned.scope.shared_names(last=last)
        return (*(name for name in below if name not in self.merged), *own)
