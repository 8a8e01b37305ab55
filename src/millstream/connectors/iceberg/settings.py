"""Reads the properties of an Iceberg sink or source, and rejects secrets in them."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from millstream.connectors.lake.properties import check_start
from millstream.errors import PropertyError
from millstream.plan.connectors import ConnectorStatement, Options
from millstream.secret_names import contains_secret, is_secret_name

PREFIX = "catalog."
_SQLITE = "sqlite:///"


class Owner(Protocol):
    """A source or a sink."""

    @property
    def options(self) -> tuple[tuple[str, str], ...]: ...
    def option(self, name: str, default: str = "") -> str: ...


def catalog_settings(owner: Owner, base: Path) -> dict[str, str]:
    """Returns the settings of a catalog as pyiceberg names them; local paths are absolute."""
    found = {
        name.removeprefix(PREFIX): value for name, value in owner.options if name.startswith(PREFIX)
    }
    if found.get("uri", "").startswith(_SQLITE):
        found["uri"] = _SQLITE + str((base / found["uri"].removeprefix(_SQLITE)).resolve())
    warehouse = found.get("warehouse", "")
    if found.get("type") == "sql" and warehouse and ":" not in warehouse:
        found["warehouse"] = str((base / warehouse).resolve())
    return found


def check_iceberg(declared: ConnectorStatement, options: Options) -> Options:
    """Rejects a name that is not `namespace.table`, and secrets in the text of a job."""
    table = declared.properties["table"]
    if "." not in table.value.strip("."):
        raise PropertyError(
            "MS-PROP-VALUE",
            f"'table' = '{table.value}' has no namespace.",
            fix=f"Write 'table' = 'namespace.{table.value}'.",
            place=table.value_place,
        )
    for name, item in declared.properties.items():
        setting = name.removeprefix(PREFIX)
        is_setting = name.startswith(PREFIX)
        if is_setting and (is_secret_name(setting) or contains_secret(item.value)):
            variable = f"PYICEBERG_CATALOG__{declared.value('catalog', 'default').upper()}__"
            raise PropertyError(
                "MS-PROP-VALUE",
                f"'{name}' is or has a secret, which every reader of the job could see.",
                fix=f"Remove it, and set the environment variable {variable}"
                f"{setting.upper().replace('-', '_').replace('.', '__')}.",
                place=item.place,
            )
    return check_start(declared, options)
