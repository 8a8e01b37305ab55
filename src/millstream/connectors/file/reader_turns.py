"""Agreement of the readers of one source: all have the same files in a micro-batch.

Spark's own join of a source with itself has two readers, which it calls one after the other in
every micro-batch. Files may appear between the calls. So the answer of the first reader holds for
all:

    <log>.turn                  [run, call, start, answer]: the last answer of the run
    <log>.<run>.<name>.reader  a reader of the run; if it is the only one, answers are not stored

The files are needed only while a run lasts: which files a micro-batch has is in Spark's offset log.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4


@dataclass(slots=True)
class ReaderTurns:
    """The calls of one reader."""

    log: Path
    run: str
    _name: str = field(default_factory=lambda: uuid4().hex)
    _calls: int = 0

    def answer(self, start: int, decide: Callable[[], int]) -> int:
        """Returns the answer of the reader that was called first, which is `decide()`.

        `start`: the offset that the call continues. A query that is started a second time in a run
        counts its calls anew, but does not continue an offset that an earlier answer was for.
        """
        self._calls += 1
        if self._calls == 1:
            self._register()
        turn = self.log.with_name(f"{self.log.name}.turn")
        is_shared = self._calls == 1 or len(self._readers()) > 1
        if is_shared and turn.exists():
            run, call, begin, answer = json.loads(turn.read_text(encoding="utf-8"))
            if (run, call, begin) == (self.run, self._calls, start):
                return int(answer)
        answer = decide()
        if is_shared:
            hidden = turn.with_name(f".{turn.name}.{self._name}")
            hidden.write_text(json.dumps([self.run, self._calls, start, answer]), encoding="utf-8")
            hidden.replace(turn)
        return answer

    def _register(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        own = set(self._readers())
        for old in self.log.parent.glob(f"{self.log.name}.*.reader"):
            if old not in own:
                old.unlink(missing_ok=True)
        (self.log.parent / f"{self.log.name}.{self.run}.{self._name}.reader").touch()

    def _readers(self) -> list[Path]:
        return list(self.log.parent.glob(f"{self.log.name}.{self.run}.*.reader"))
