"""What one step does to sessions: new fragments are merged with those that they overlap."""

from __future__ import annotations

import numpy as np
import polars as pl

from millstream.kernels.aggregate.results import only
from millstream.kernels.aggregate.step import Step, ended
from millstream.kernels.core.kernel import HASH, TIME
from millstream.kernels.core.key_index import Bools, Ints
from millstream.kernels.core.specs import INHERITED_START
from millstream.kernels.session_chains import CHAIN, Components
from millstream.kernels.state.sorted_rows import take
from millstream.temporal import Emit


class SessionStep(Step):
    def update(self, new: pl.DataFrame | None) -> None:
        if new is None:
            self.release()
            return
        made = Components.of(self.groups, new, self.spec.keys)
        held = made.found.rows(new.columns) if len(made.found) else new.clear()
        self.groups.remove(made.found)
        now = self._merged(held.vstack(new), made.chains)
        # Chains are numbered from 0 without holes, and `now` lies in their order.
        self._emit_changes(held, made.chains[: held.height], now)
        self.release()
        self.keep(now)

    def _merged(self, parts: pl.DataFrame, chains: Ints) -> pl.DataFrame:
        """One session a chain, in their order; held ones lie before new ones, as they came."""
        names = parts.columns
        sizes = np.bincount(chains)
        if (sizes == 1).all():
            return take(parts, np.argsort(chains))
        keep = [
            *(pl.col(name).first() for name in (HASH, *self.spec.keys)),
            pl.col(INHERITED_START).min(),
            pl.col(TIME).max(),
        ]
        numbered = parts.with_columns(pl.Series(CHAIN, chains))
        return self.folding.merge(numbered, [CHAIN], keep).sort(CHAIN)[:, names]

    def _emit_changes(self, held: pl.DataFrame, chains: Ints, now: pl.DataFrame) -> None:
        final = self.spec.emit is Emit.FINAL
        out = ended(held, self.times.since) if final else np.ones(held.height, np.bool_)
        held, chains = only(held, out), chains[out]
        become = take(now, chains)
        same: Bools = (held[TIME] == become[TIME]).to_numpy()
        same &= (held[INHERITED_START] == become[INHERITED_START]).to_numpy()
        self.results.delete(only(held, ~same))
        self.results.change(only(held, same), only(become, same), if_equal=final)
        due = ended(now, self.times.after) if final else np.ones(now.height, np.bool_)
        due[chains[same]] = False
        self.results.insert(only(now, due))
