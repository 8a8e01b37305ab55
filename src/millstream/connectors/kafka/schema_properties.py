"""Declares and checks the properties by which Avro and Protobuf values have a schema."""

from __future__ import annotations

from urllib.parse import urlsplit

from millstream.connectors.kafka.settings import without_excerpt
from millstream.errors import PropertyError
from millstream.plan.connectors import PATH, ConnectorStatement, Property, Role
from millstream.sql.properties import TEXT, one_of

FORMATS = ("avro", "protobuf")
_AVRO, _PROTOBUF = ("avro",), ("protobuf",)
_EXAMPLES = {"avro": "order.avsc", "protobuf": "order.proto"}

SCHEMA_PROPERTIES = (
    Property("avro.schema", TEXT, "The Avro schema of values, as JSON.", formats=_AVRO),
    Property("avro.schema.file", PATH, "The file of the Avro schema.", formats=_AVRO),
    Property("protobuf.schema", TEXT, "The text of a .proto file.", formats=_PROTOBUF),
    Property(
        "protobuf.schema.file",
        PATH,
        "A .proto file, or descriptors that protoc wrote with --include_imports "
        "--descriptor_set_out.",
        formats=_PROTOBUF,
    ),
    Property(
        "protobuf.message",
        TEXT,
        "The message type of values; required if the schema has several.",
        formats=_PROTOBUF,
    ),
    Property(
        "schema.registry.url",
        TEXT,
        "The schema registry (REST API of Confluent), which has the schemas of values.",
        formats=FORMATS,
    ),
    Property(
        "schema.registry.subject",
        TEXT,
        "The subject of the topic's schemas. Default: the topic and -value.",
        formats=FORMATS,
    ),
    Property("schema.registry.username", TEXT, "The user of the registry.", formats=FORMATS),
    Property(
        "schema.registry.password.env",
        TEXT,
        "The environment variable with that user's password.",
        formats=FORMATS,
    ),
    Property(
        "schema.registry.token.env",
        TEXT,
        "The environment variable with a bearer token for the registry.",
        formats=FORMATS,
    ),
    Property(
        "schema.registry.ca.location",
        PATH,
        "The file of trusted certificates of the registry.",
        formats=FORMATS,
    ),
    Property(
        "wire.format",
        one_of("confluent", "plain"),
        "Whether values begin with the id of their schema (confluent). Default: with a registry "
        "confluent, otherwise plain.",
        formats=FORMATS,
    ),
)


def check_schema(declared: ConnectorStatement) -> None:
    """Rejects a source or sink without a schema, and properties that contradict each other."""
    form = declared.value("format", "json").lower()
    if form not in FORMATS:
        return
    names = (f"{form}.schema", f"{form}.schema.file")
    given = [declared.properties[name] for name in names if name in declared.properties]
    registry = declared.properties.get("schema.registry.url")
    if len(given) > 1:
        raise _error(f"the schema of {declared.name} is given twice.", "Remove one.", given[1])
    is_source = declared.role is Role.SOURCE
    if not given and registry is None:
        raise PropertyError(
            "MS-PROP-KAFKA",
            f"values in {form} need a schema, and {declared.name} names none.",
            fix=f"Add '{form}.schema.file' = '{_EXAMPLES[form]}', or 'schema.registry.url'.",
            place=declared.place,
        )
    if given and registry is not None and is_source:
        raise _error(
            f"{declared.name} reads its schemas from the registry, so '{given[0].name}' cannot be "
            "set as well.",
            "Remove one of them.",
            given[0],
        )
    wire = declared.properties.get("wire.format")
    if registry is None:
        _reject_without_registry(declared)
        if wire is not None and wire.value.lower() == "confluent" and not is_source:
            raise _error(
                "'wire.format' = 'confluent' needs a schema registry, which assigns the ids at the "
                "beginning of values.",
                "Add 'schema.registry.url', or set 'wire.format' = 'plain'.",
                wire,
            )
        return
    if not _is_url(registry.value):
        raise PropertyError(
            "MS-PROP-VALUE",
            "'schema.registry.url' must be an http or https address without a login.",
            fix="Write it as 'https://registry:8081'; 'schema.registry.username' and "
            "'schema.registry.password.env' are the login.",
            place=without_excerpt(registry.value_place),
        )
    login = ("schema.registry.password.env", "schema.registry.username")
    if login[0] in declared.properties and login[1] not in declared.properties:
        raise declared.missing_property_error(login[1], "me")


def _reject_without_registry(declared: ConnectorStatement) -> None:
    for name, item in declared.properties.items():
        if name.startswith("schema.registry."):
            raise PropertyError(
                "MS-PROP-UNUSED",
                f"'{name}' applies to a schema registry, and {declared.name} names none.",
                fix="Add 'schema.registry.url', or remove it.",
                place=item.place,
            )


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.username is None
    except ValueError:
        return False


def _error(cause: str, fix: str, item: object) -> PropertyError:
    place = getattr(item, "place", None)
    return PropertyError("MS-PROP-KAFKA", cause, fix=fix, place=place)
