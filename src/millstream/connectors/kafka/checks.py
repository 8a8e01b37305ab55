"""Checks properties of Kafka that depend on each other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from millstream.connectors.kafka.schema_properties import FORMATS, check_schema
from millstream.connectors.kafka.settings import OP, OWN, PREFIX, name_list, without_excerpt
from millstream.errors import PlanError, PropertyError
from millstream.plan.connectors import ConnectorStatement, Delivery, Options, Role
from millstream.plan.nodes import SinkDef
from millstream.secret_names import is_secret_name
from millstream.sql.statements import Property
from millstream.suggestions import nearest, same

_ADDRESSES = ("bootstrap.servers", "metadata.broker.list")
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_OFFSETS = re.compile(r"\s*\d{1,9}\s*:\s*\d{1,18}\s*(,\s*\d{1,9}\s*:\s*\d{1,18}\s*)*")


def start_offsets(text: str) -> dict[int, int]:
    """Parses 'start.offsets'."""
    pairs = (part.split(":") for part in text.split(",")) if text else ()
    return {int(partition): int(offset) for partition, offset in pairs}


def start_millis(text: str) -> int:
    """Parses 'start.timestamp'; a time without an offset is UTC. Raises ValueError."""
    time = datetime.fromisoformat(text)
    return int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def check_kafka(declared: ConnectorStatement, options: Options) -> Options:
    """Rejects properties that contradict each other, and secrets in the text of a job."""
    for name, item in declared.properties.items():
        if name.startswith(PREFIX):
            _check_setting(name.removeprefix(PREFIX), item)
        if name.removeprefix(PREFIX) in _ADDRESSES:
            _check_address(item)
    _check_topic(declared)
    form = declared.value("format", "json").lower()
    if declared.role is Role.SINK and form not in ("json", *FORMATS):
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"the sink {declared.name} writes JSON, Avro or Protobuf, and 'format' is '{form}'.",
            fix="Set 'format' = 'json'.",
            place=declared.properties["format"].place,
        )
    check_schema(declared)
    if declared.role is Role.SOURCE:
        _check_changelog(declared, form)
        if form == "raw":
            _check_raw(declared)
    start = declared.value("start", "earliest")
    for mode in ("timestamp", "offsets"):
        given = declared.properties.get(f"start.{mode}")
        if start == mode and given is None:
            raise declared.missing_property_error(f"start.{mode}", _EXAMPLES[mode])
        if start != mode and given is not None:
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'start.{mode}' applies to 'start' = '{mode}', and 'start' is '{start}'.",
                fix=f"Leave it out, or set 'start' = '{mode}'.",
                place=given.place,
            )
        if given is not None:
            _check_start(mode, given)
    user, password = (declared.properties.get(f"sasl.{name}") for name in _LOGIN)
    if password and not user:
        raise declared.missing_property_error("sasl.username", "me")
    return options


def retracts(declared: ConnectorStatement) -> bool:
    """Whether the rows of a source retract earlier rows; with a column `_OP`, they are ordinary
    rows."""
    return _changelog(declared) == "debezium" and not _has_column(declared, OP)


def upsert_key(declared: ConnectorStatement) -> tuple[str, ...]:
    """The columns by which a row of a source replaces an earlier one."""
    if _changelog(declared) != "upsert" or _has_column(declared, OP):
        return ()
    named = name_list(declared.value("key.columns"))
    return tuple(name for name, _ in declared.columns if any(same(name, each) for each in named))


def _changelog(declared: ConnectorStatement) -> str:
    return declared.value("changelog").lower() if declared.role is Role.SOURCE else ""


def _has_column(declared: ConnectorStatement, name: str) -> bool:
    return any(same(column, name) for column, _ in declared.columns)


def _check_changelog(declared: ConnectorStatement, form: str) -> None:
    changelog, given = _changelog(declared), declared.properties.get("changelog")
    keys = declared.properties.get("key.columns")
    if changelog != "upsert" and keys is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'key.columns' of a source applies to 'changelog' = 'upsert'.",
            fix="Remove it; the key of a record is the column _KEY.",
            place=keys.place,
        )
    truncate = declared.properties.get("on.truncate")
    if changelog != "debezium" and truncate is not None:
        raise PropertyError(
            "MS-PROP-UNUSED",
            "'on.truncate' applies to 'changelog' = 'debezium'.",
            fix="Remove it.",
            place=truncate.place,
        )
    if given is None:
        return
    if changelog == "debezium" and form in ("csv", "raw"):
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"envelopes of Debezium are JSON, Avro or Protobuf, and 'format' is '{form}'.",
            fix="Set another 'format'.",
            place=given.place,
        )
    if changelog == "upsert":
        _check_keys(declared)
    if declared.noun == "table" and not _has_column(declared, OP):
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"the table {declared.name} is versioned and reads changes, and has no column for the "
            "kind of a change.",
            fix="Declare the column _OP STRING.",
            place=declared.place,
        )
    hidden = [name for name in _RECORD if retracts(declared) and _has_column(declared, name)]
    if hidden:
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"{declared.name} retracts rows, and {hidden[0]} of a retraction would be that of the "
            "change, not of the retracted row.",
            fix=f"Remove {hidden[0]}, or declare the column _OP STRING, so that changes are "
            "ordinary rows.",
            place=declared.place,
        )


def _check_raw(declared: ConnectorStatement) -> None:
    hidden = {*_RECORD, *([OP.lower()] if _changelog(declared) else [])}
    own = [name for name, _ in declared.columns if name.lower() not in hidden]
    if len(own) != 1:
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"{declared.name}: with 'format' = 'raw', one column is the value; there are "
            f"{', '.join(own) or 'none'}.",
            fix="Declare one column, and system columns of the record as you need them.",
            place=declared.properties["format"].place,
        )


def _check_keys(declared: ConnectorStatement) -> None:
    names = name_list(declared.value("key.columns"))
    if not names:
        raise declared.missing_property_error("key.columns", "id")
    for name in names:
        if not _has_column(declared, name):
            raise PropertyError(
                "MS-PROP-KAFKA",
                f"'key.columns' of {declared.name} names {name}, which it does not have.",
                fix=nearest(name, [column for column, _ in declared.columns]),
                place=declared.properties["key.columns"].value_place,
            )


_RECORD = ("_timestamp", "_partition", "_offset", "_key", "_headers")


def check_columns(sink: SinkDef, columns: Sequence[str], operation: bool) -> None:
    """Rejects unknown columns, and an upsert log without keys. `operation`: rows have `_OP`."""
    keys = name_list(sink.option("key.columns"))
    headers = sink.option("headers.column")
    for name in [*keys, *([headers] if headers else [])]:
        if not any(same(name, column) for column in columns):
            raise PlanError(
                "MS-PLAN-UNKNOWN-COLUMN",
                f"the sink {sink.name} names the column {name}, which its query does not select.",
                fix=nearest(name, columns),
                place=sink.place,
            )
    if operation and not keys and sink.option("changelog", "upsert") == "upsert":
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"the results of {sink.name} change, and a topic of upserts needs keys.",
            fix="Add 'key.columns' = '…', or set 'changelog' = 'debezium'.",
            place=sink.place,
        )


def delivery_of(sink: SinkDef) -> Delivery:
    return Delivery(sink.option("delivery", str(Delivery.EXACTLY_ONCE)))


_EXAMPLES = {"timestamp": "2026-01-31T12:00:00Z", "offsets": "0:42,1:300"}
_LOGIN = ("username", "password.env")


def _check_start(mode: str, given: Property) -> None:
    valid = _OFFSETS.fullmatch(given.value) is not None
    if mode == "timestamp":
        try:
            valid = start_millis(given.value) >= 0
        except (ValueError, OverflowError):
            valid = False
    if not valid:
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'start.{mode}' cannot be '{given.value[:100]}'.",
            fix=f"Write it as '{_EXAMPLES[mode]}'.",
            place=given.value_place,
        )


def _check_address(item: Property) -> None:
    if "@" in item.value:  # the value is not shown: it may have a password
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"'{item.name}' has a login, which the text of a job must not have.",
            fix="Write brokers as host:port, and the login as 'sasl.username' and "
            "'sasl.password.env'.",
            place=without_excerpt(item.place),
        )


def _check_topic(declared: ConnectorStatement) -> None:
    topic = declared.properties.get("topic")
    if topic is None or (_TOPIC.fullmatch(topic.value) and topic.value not in (".", "..")):
        return
    raise PropertyError(
        "MS-PROP-KAFKA",
        f"'{topic.value[:100]}' is not the name of a topic: that has 1 to 249 letters, digits, "
        "points, _ and -.",
        fix="Correct 'topic'.",
        place=topic.value_place,
    )


def _check_setting(name: str, item: Property) -> None:
    if is_secret_name(name):
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"'{item.name}' is a secret, which the text of a job must not have.",
            fix="Name an environment variable with 'sasl.password.env', or put it into the file "
            "of 'config.file'.",
            place=without_excerpt(item.place),
        )
    if name in OWN:
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"'{item.name}' is set by Millstream, because its guarantees depend on it.",
            fix="Leave it out.",
            place=item.place,
        )
