"""Which query writes the malformed records of each source, in `<checkpoint>/dead-letters.json`.

Several queries may read a source whose dead letters go to one sink. One of them writes, and it is
the same one in all runs: a query that is added before it must not write the records again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from millstream.plan.facts.output_groups import query_sources
from millstream.plan.facts.side_outputs import queries_with_dead_letters
from millstream.plan.nodes import Query
from millstream.run.checkpoint import write_json

FILE = "dead-letters.json"


def record_malformed_writers(checkpoint: Path, queries: Sequence[Query]) -> dict[str, str]:
    """Returns and stores the name of the query that writes, by source. The checkpoint is locked."""
    file = checkpoint / FILE
    recorded = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    found: dict[str, str] = {}
    for source in dict.fromkeys(each.name for query in queries for each in query_sources(query)):
        readers = [query.name for query in queries_with_dead_letters(queries, source)]
        if readers:
            known = recorded.get(source)
            found[source] = known if known in readers else readers[0]
    if recorded != found:
        checkpoint.mkdir(parents=True, exist_ok=True)
        write_json(file, found)
    return found
