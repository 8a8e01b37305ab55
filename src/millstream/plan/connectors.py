"""Declarations of connectors: their properties and capabilities as plain values.

A connector's folder defines its `ConnectorSpec`. Planning validates the properties of a statement
against a registry of such values; the implementation is named as "module:function" and imported
when the connector is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from millstream.errors import Place, PropertyError
from millstream.sql.properties import TEXT, PropertyType
from millstream.sql.statements import Property as GivenProperty
from millstream.temporal import OutputMode

if TYPE_CHECKING:
    from millstream.plan.nodes import SinkDef


class Role(StrEnum):
    """What a statement uses a connector for."""

    SOURCE = "source"  # a stream of rows; a versioned table is one, too
    TABLE = "table"  # a reference table, read whole or looked up by key
    SINK = "sink"


class Delivery(StrEnum):
    """How often a row is in a sink after failures and restarts."""

    EXACTLY_ONCE = "exactly_once"
    AT_LEAST_ONCE = "at_least_once"
    NONE = "none"  # rows are not stored


CHECKPOINT = "checkpoint"  # the option of a source that knows its checkpoint
ANY_ROLE = (Role.SOURCE, Role.TABLE, Role.SINK)
PATH = PropertyType(
    "a path or URL", TEXT.accepts
)  # a relative path starts at the folder of the SQL file


@dataclass(frozen=True, slots=True)
class Property:
    """A property that a connector accepts.

    Attributes:
        required: An example value, shown in the error if the property is missing. `{name}` stands
            for the name of the source, table or sink. Empty: the property is optional.
        formats: The values of 'format' that it applies to; empty: all.
    """

    name: str
    kind: PropertyType
    help: str
    roles: tuple[Role, ...] = ANY_ROLE
    default: str | None = None
    required: str = ""
    secret: bool = False
    formats: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConnectorStatement:
    """A CREATE statement whose properties have been validated one by one."""

    role: Role
    noun: str  # source, table or sink: the word in its statement
    name: str
    connector: str
    properties: Mapping[str, GivenProperty]
    place: Place
    columns: tuple[tuple[str, str], ...] = ()  # name and SQL type of declared columns

    def value(self, name: str, default: str = "") -> str:
        return self.properties[name].value if name in self.properties else default

    def missing_property_error(self, name: str, example: str) -> PropertyError:
        return PropertyError(
            "MS-PROP-MISSING",
            f"the {self.noun} {self.name} does not say its '{name}', which '{self.connector}' "
            "needs.",
            fix=f"Add '{name}' = '{example.replace('{name}', self.name)}'.",
            place=self.place,
        )


Options = dict[str, str]


@dataclass(frozen=True, slots=True)
class ConnectorSpec:
    """A connector: what it is for, its properties, and what callers may rely on.

    Attributes:
        aliases: Other names that SQL may use, such as those of Flink. Plans have `name`.
        source: Opens a stream, as "module:function"; None: it is no source. The protocols of
            these functions are in `connectors/protocols.py`.
        table: Reads a reference table whole.
        lookup: Looks rows up by key.
        sink: Opens a sink.
        output: Finds what a sink has written, for `run --fresh` and for the preview of rows.
        modes: The output modes that its sink accepts.
        delivery: The delivery guarantee of its sink.
        delivery_of: The guarantee of one sink, where it depends on the sink's options.
        delivery_reason: Why its sink has the guarantee `delivery`, if not for the usual reason.
        limit_of: A limit of one sink that `explain` shows; empty if it has none.
        executor_reads: Executors read the rows; the driver only lists work items.
        admission_control: The size of a micro-batch can be limited.
        source_state: Its source stores what it has read in a file of the checkpoint, whose path is
            the argument `state` of the function that opens it.
        keeps_rows: False if its sink discards rows.
        refreshable: A table can be read again while the job runs.
        watchable: Whether a table has changed is known without reading it.
        concurrent_writers: Several sinks may write to one path.
        tables_in_path: A path is a database with several tables, so sinks and sources may share it.
        system_columns: System columns of its source: the name, and the column of the stream.
        retracts: Whether a source's rows are changes that retract earlier rows: the stream then
            has the column CHANGE (`connectors/work_items.py`) and no system columns.
        upsert_key: The columns by which a row of a source replaces an earlier one; with them, the
            source has the system column `_op`. Empty: rows replace none.
        knows_checkpoint: Its source gets the option CHECKPOINT: what identifies the checkpoint.
        in_sql: False if only the Python API uses it.
        pass_through: Properties with these prefixes go to the implementation unchecked.
        resolve: Returns the name of the connector that serves a statement, for a connector that
            is another name for others.
        check: Checks properties that depend on each other and completes the options that the
            implementation gets.
        check_columns: Checks a sink against the columns of its query; the last argument is whether
            rows have a column `_OP`.
        check_mode: Checks a sink against the output mode of its query.
    """

    name: str
    help: str
    properties: tuple[Property, ...] = ()
    aliases: tuple[str, ...] = ()
    source: str | None = None
    table: str | None = None
    lookup: str | None = None
    sink: str | None = None
    output: str | None = None
    modes: tuple[OutputMode, ...] = (OutputMode.APPEND,)
    delivery: Delivery = Delivery.NONE
    delivery_of: Callable[[SinkDef], Delivery] | None = None
    delivery_reason: str = ""
    limit_of: Callable[[SinkDef], str] | None = None
    executor_reads: bool = False
    admission_control: bool = False
    source_state: bool = False
    keeps_rows: bool = True
    refreshable: bool = True
    watchable: bool = False
    concurrent_writers: bool = False
    tables_in_path: bool = False
    system_columns: tuple[tuple[str, str], ...] = ()
    retracts: Callable[[ConnectorStatement], bool] | None = None
    upsert_key: Callable[[ConnectorStatement], tuple[str, ...]] | None = None
    knows_checkpoint: bool = False
    in_sql: bool = True
    pass_through: tuple[str, ...] = ()
    resolve: Callable[[ConnectorStatement], str] | None = None
    check: Callable[[ConnectorStatement, Options], Options] | None = None
    check_columns: Callable[[SinkDef, Sequence[str], bool], None] | None = None
    check_mode: Callable[[SinkDef, OutputMode], None] | None = None

    @property
    def delivery_text(self) -> str:
        """The guarantee of its sink, for people; empty if it is no sink."""
        if self.resolve:
            return "that of the chosen connector"
        if not self.sink:
            return ""
        if self.delivery is Delivery.NONE:
            return "none: rows are not stored"
        return str(self.delivery).replace("_", " ")

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, *self.aliases)

    def has_role(self, role: Role) -> bool:
        if self.resolve:
            return True
        if role is Role.TABLE:
            return bool(self.table or self.lookup)
        return bool(self.source if role is Role.SOURCE else self.sink)

    @property
    def roles(self) -> tuple[Role, ...]:
        return tuple(role for role in Role if self.has_role(role))

    def properties_of(self, role: Role) -> dict[str, Property]:
        """Returns the properties of a role by name."""
        return {each.name: each for each in self.properties if role in each.roles}

    def declares(self, name: str) -> bool:
        return any(each.name == name for each in self.properties)

    def is_secret(self, name: str) -> bool:
        return any(each.name == name and each.secret for each in self.properties)

    def path_property(self, role: Role) -> str | None:
        """Returns the property that says where rows are, if it is a path. Other properties may be
        paths, too, such as that of a certificate."""
        found = self.properties_of(role).get("path")
        return found.name if found is not None and found.kind is PATH else None


@dataclass(frozen=True, slots=True)
class ConnectorRegistry:
    """The connectors that a job can use. `problems` lists packages that could not be loaded."""

    specs: tuple[ConnectorSpec, ...]
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> ConnectorSpec | None:
        return next((spec for spec in self.specs if name in spec.names), None)

    def __getitem__(self, name: str) -> ConnectorSpec:
        """Returns a connector; one that is not registered has no properties and no capability."""
        return self.get(name) or ConnectorSpec(name, "")

    def __iter__(self) -> Iterator[ConnectorSpec]:
        return iter(self.specs)

    def names(self, role: Role) -> list[str]:
        """Returns the connectors that SQL can name in a role."""
        return [
            name
            for spec in self.specs
            if spec.in_sql and spec.has_role(role)
            for name in spec.names
        ]

    def owners(self, name: str, role: Role | None = None) -> list[str]:
        """Returns the connectors that declare a property, in a role or in any."""
        return [
            spec.name
            for spec in self.specs
            if (spec.declares(name) if role is None else name in spec.properties_of(role))
        ]

    def with_spec(self, *specs: ConnectorSpec) -> ConnectorRegistry:
        return ConnectorRegistry((*self.specs, *specs), self.problems)


def spec_json(spec: ConnectorSpec) -> dict[str, Any]:
    """Returns a declaration as data."""
    return {
        "name": spec.name,
        "aliases": list(spec.aliases),
        "help": spec.help,
        "roles": [str(role) for role in spec.roles],
        "delivery": str(spec.delivery) if spec.sink else None,
        "output_modes": [str(mode) for mode in spec.modes] if spec.sink else [],
        "executor_reads": spec.executor_reads,
        "admission_control": spec.admission_control,
        "properties": [
            {
                "name": each.name,
                "roles": [str(role) for role in each.roles],
                "type": each.kind.description,
                "default": each.default,
                "required": bool(each.required),
                "secret": each.secret,
                "formats": list(each.formats),
                "help": each.help,
            }
            for each in spec.properties
        ],
    }
