"""The Python data source that streams the versions of a Delta table."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from pyspark.sql.types import StructType

from millstream.connectors.delta.log import TableLog
from millstream.connectors.lake.version_stream import StreamSettings, VersionStream
from millstream.connectors.python_source import NamedDataSource
from millstream.connectors.work_items import ITEM

SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class TableSettings:
    """The table that a stream reads. `ignore_changes`: skip versions that update or delete rows."""

    owner: str
    path: str
    ignore_changes: bool
    stream: StreamSettings

    def encoded(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def decoded(cls, text: str) -> TableSettings:
        found: dict[str, Any] = json.loads(text)
        return cls(**found | {"stream": StreamSettings(**found["stream"])})

    @property
    def log(self) -> TableLog:
        return TableLog(self.owner, self.path, ignore_changes=self.ignore_changes)


class DeltaVersions(NamedDataSource):
    called: ClassVar[str] = "millstream_delta"

    def schema(self) -> str:
        return f"{ITEM} string"

    def streamReader(self, schema: StructType) -> VersionStream:  # noqa: ARG002, N802
        settings = TableSettings.decoded(self.options[SETTINGS])
        return VersionStream(settings.stream, settings.log)
