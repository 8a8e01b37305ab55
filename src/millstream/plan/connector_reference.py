"""Declarations of connectors as Markdown, for the reference page of the docs."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.plan.connectors import ConnectorRegistry, ConnectorSpec, Property

HEAD = """# Connectors

This page is generated from the declarations of the connectors by
`python scripts/connector_reference.py`. `millstream connectors` and `millstream connectors NAME`
print the same, with the connectors of other packages that are installed. Properties of Millstream
itself are in [Properties and settings](reference/properties.md).

A property of another connector, or of a format that is not in use, is rejected with
`MS-PROP-UNUSED`.
"""


def connector_reference(registry: ConnectorRegistry) -> str:
    """Returns the reference page of all connectors that SQL can name."""
    lines = [HEAD, *_overview(registry)]
    for spec in registry:
        if spec.in_sql:
            lines += ["", *_connector(spec)]
    return "\n".join(lines) + "\n"


def _overview(registry: ConnectorRegistry) -> Iterator[str]:
    yield "| connector | for | delivery | output modes |"
    yield "|---|---|---|---|"
    for spec in registry:
        if spec.in_sql:
            modes = ", ".join(spec.modes) if spec.sink else ""
            if spec.resolve:
                modes = "those of the chosen connector"
            link = ", ".join((f"[{spec.name}](#{spec.name})", *_quoted(spec.aliases)))
            yield f"| {link} | {', '.join(spec.roles)} | {spec.delivery_text} | {modes} |"


def _connector(spec: ConnectorSpec) -> Iterator[str]:
    yield f"## {spec.name}"
    yield ""
    yield spec.help
    if spec.aliases:
        yield ""
        yield f"`{spec.name}` is also named {' or '.join(_quoted(spec.aliases))}."
    if not spec.properties:
        return
    yield ""
    yield "| property | of a | value | default | |"
    yield "|---|---|---|---|---|"
    for each in spec.properties:
        roles = ", ".join(role for role in each.roles if spec.has_role(role))
        value = _cell(each.kind.description)
        yield f"| `{each.name}` | {roles} | {value} | {_default(each)} | {_help(each)} |"


def _quoted(names: tuple[str, ...]) -> list[str]:
    return [f"`{name}`" for name in names]


def _default(each: Property) -> str:
    if each.required:
        return "required"
    if each.default is None:
        return ""
    return f"`{_cell(each.default)}`" if each.default else "empty"


def _help(each: Property) -> str:
    formats = f" Formats: {', '.join(each.formats)}." if each.formats else ""
    secret = " A secret: it is never shown." if each.secret else ""
    return _cell(each.help + formats + secret)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
