"""What Spark sends to a packer: each column of the stream once, and what only Spark can compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    IntegerType,
    IntegralType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from millstream.connectors.dead_letters import BAD
from millstream.connectors.file.names import read_type
from millstream.connectors.work_items import ITEM
from millstream.engine.compile.expressions import named
from millstream.engine.compile.stateless import Flow, plain_condition
from millstream.engine.scan.loop import KEEP, Scan, Scanned
from millstream.engine.scan.predicates import Both, Condition, columns_in
from millstream.engine.scan.window_bounds import Moment
from millstream.engine.shuffle.column_names import Kind
from millstream.engine.shuffle.layout import GROUP, Cut, Form
from millstream.engine.shuffle.packer import PROGRESS
from millstream.kernels.core.kernel import HASH, TIME
from millstream.plan.expressions import Expression

_READ_BY_PACKERS = (TIME, PROGRESS)
_HASHED_HERE = (IntegralType, BooleanType, DateType, TimestampType)
_HASHED_SLOWER = (StringType, BinaryType)  # than Spark does, but reading files here pays for it


@dataclass(frozen=True, slots=True)
class Made:
    """A column of packets, as Spark computes it. If that is no more than the stream's column
    `plain`, or that one as a 64-bit integer (`wide`), a packer can make it; so it can if it is what
    is `asked` of files that it reads."""

    name: str
    column: Column
    plain: str | None = None
    wide: bool = False
    constant: bool = False  # the same for all rows of a micro-batch
    asked: Condition | None = None
    held: str | None = None  # the stream's column that it is, in the form in which packets hold it


@dataclass(frozen=True, slots=True)
class Ready:
    """An input: the frame that Spark sends, what becomes of it, and the columns of its packets;
    `plains` are those that are no more than a column of the stream, as it is held, and which one;
    `hashed` those whose hash is HASH, where it is not a column already.
    With `scan`, Spark sends names of files, of each of which about `file_bytes` are read."""

    frame: DataFrame
    form: Form
    schema: StructType
    plains: Mapping[str, str]
    hashed: tuple[str, ...] = ()
    scan: Scan | None = None
    file_bytes: int = 0


@dataclass(slots=True)
class Sent:
    """Gathers the columns of one input's packets."""

    rows: Flow
    alias: str
    made: list[Made] = field(default_factory=list)
    types: dict[str, DataType] = field(init=False)  # of the stream's columns

    def __post_init__(self) -> None:
        self.types = self.rows.rows.types

    def plain(self, expression: Expression) -> str | None:
        """The stream's column that an expression is, if it is no more."""
        return named(expression, self.alias, self.types)

    def asked(self, expression: Expression) -> Condition | None:
        """A condition that a packer can decide of files, if it is one."""
        return plain_condition(expression, self.alias, self.rows)

    def hashable(self, plains: Sequence[str | None]) -> tuple[str, ...] | None:
        """The columns, if a packer can hash them as Spark does."""
        known = tuple(plain for plain in plains if plain is not None)
        kinds = _HASHED_HERE if self.rows.files is None else (*_HASHED_HERE, *_HASHED_SLOWER)
        here = all(isinstance(kind, kinds) for kind in (self.types[plain] for plain in known))
        return known if here and len(known) == len(plains) else None

    def ready(
        self,
        beside: Sequence[Made],
        *,
        hashed: Sequence[str] | None = None,
        some: bool = False,
        grouped: Sequence[str] | None = None,
        matched: Made | None = None,
    ) -> Ready:
        """`hashed`: the packets' columns whose hash is HASH; with `some`, NULL if one of them is.
        `grouped`: the stream's by whose hash rows are grouped. `matched`: true of rows that may
        have a HASH."""
        sent: dict[str, str] = {}  # by the stream's name
        cuts, copies = [], []
        first: dict[tuple[str, bool], str] = {}
        for each in self.made:
            name = each.name
            if each.plain is not None:
                name = sent.setdefault(each.plain, Kind.SENT.name_of(len(sent)))
            same = first.setdefault((name, each.wide), each.name)
            own = each.name in _READ_BY_PACKERS or (each.name == HASH and matched is not None)
            if same == each.name or own:
                cuts.append(Cut(each.name, name, each.wide))
            else:
                copies.append((each.name, same))
        here: tuple[str, ...] | None = None
        if hashed is not None:
            plains = {each.name: each.plain for each in self.made}
            here = self.hashable([plains[name] for name in hashed])
        by_spark = hashed is not None and here is None
        told = (*self.made, *((matched,) if matched else ()))
        scan, file_bytes = None if by_spark else self._scan(sent, told), 0
        by_it = [each for each in (*told, *beside) if each.plain is None]
        if scan is not None:
            assert self.rows.files is not None
            constant = [each.column.alias(each.name) for each in by_it if each.constant]
            names = self.rows.files.names
            frame = names.select(ITEM, *constant) if constant else names
            file_bytes = scan.size_of(self.rows.files.sample)
        else:
            columns = [F.col(f"`{plain}`").alias(name) for plain, name in sent.items()]
            columns += [each.column.alias(each.name) for each in by_it]
            frame = self.rows.frame.alias(self.alias).select(*columns)
        known = {cut.name: cut.sent for cut in cuts}
        known |= {name: known[same] for name, same in copies}
        cuts += [Cut(each.name, each.name) for each in beside]
        if by_spark:
            # Of columns that are there: an expression may give another value the next time.
            value = F.xxhash64(*(F.col(known[name]) for name in hashed or ()))
            frame = frame.select(value.alias(HASH), "*")
            cuts.insert(0, Cut(HASH, HASH))
        form = Form(
            tuple(cuts),
            None if here is None else tuple(sent[plain] for plain in here),
            some,
            None if grouped is None else tuple(sent[plain] for plain in grouped),
            tuple(copies),
            None if matched is None else matched.name,
        )
        types: dict[str, DataType] = {KEEP: BooleanType(), BAD: StringType()}
        types |= {each.name: BooleanType() for each in told if each.asked is not None}
        types |= {each.name: each.dataType for each in frame.schema}
        types |= {name: self.types[plain] for plain, name in sent.items()}
        read = {each.name: of for each in self.made if (of := each.plain or each.held)}
        packets = _packets(types, form)
        return Ready(frame, form, packets, read, tuple(hashed or ()), scan, file_bytes)

    def _scan(self, sent: Mapping[str, str], told: Sequence[Made]) -> Scan | None:
        """How a packer reads all of this by itself, if it can."""
        files, plain = self.rows.files, self.rows.plain
        if files is None or not all(each.plain or each.constant or each.asked for each in told):
            return None
        columns, moments = [], []
        for own, name in sent.items():
            kind, origin = read_type(self.types[own]), plain.get(own)
            if kind is None or origin is None:
                return None
            if isinstance(origin, Moment):
                moments.append((name, origin))
            else:
                columns.append(Scanned(name, origin, kind))
        flags = [(each.name, each.asked) for each in told if each.asked is not None]
        if self.rows.kept:
            flags.append((KEEP, Both("and_kleene", self.rows.kept)))
        needed = set().union(*(columns_in(asked) for _, asked in flags))
        needed |= {moment.column for _, moment in moments}
        for own in sorted(needed - {each.name for each in columns}):
            kind = read_type(files.types[own])
            assert kind is not None
            columns.append(Scanned(Kind.FILE.name_of(len(columns)), own, kind))
        # Without a column there would be no telling how many rows there are.
        if not columns:
            return None
        scan = Scan(files.reader, tuple(columns), tuple(flags), tuple(moments))
        return replace(scan, reported=files.reported)


def _packets(types: Mapping[str, DataType], form: Form) -> StructType:
    made = [StructField(cut.name, LongType() if cut.wide else types[cut.sent]) for cut in form.cuts]
    kinds = {each.name: each.dataType for each in made}
    made += [StructField(name, kinds[same]) for name, same in form.copies]
    if form.hashed is not None:
        made.insert(0, StructField(HASH, LongType()))
    if form.grouped is not None:
        made.append(StructField(GROUP, IntegerType()))
    return StructType(made)
