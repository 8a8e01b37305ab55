"""Makes clients of librdkafka; a setting that it rejects is an error that names the setting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaException

from millstream.connectors.kafka.client import Client
from millstream.errors import RunError
from millstream.secret_names import is_secret_name

_CREATION = re.compile(r"^Failed to create \w+( \w+)?: ")
_SHORT = 4  # shorter values are not masked: they would be found in other words


def new_client(
    kind: Callable[[dict[str, Any]], Any], client: Client, own: Mapping[str, Any]
) -> Any:
    """Returns an AdminClient, Consumer or Producer. `own` are defaults of the caller."""
    settings = client.config(own)
    try:
        return kind(settings)
    except KafkaException as error:
        reason = str(error.args[0].str())
    except (TypeError, ValueError) as error:  # of settings that are functions in Python
        reason = str(error)
    raise _rejected(client, settings, reason)


def _rejected(client: Client, settings: Mapping[str, Any], reason: str) -> RunError:
    text = " ".join(_CREATION.sub("", reason).split()).rstrip(".")
    names = [name for name in settings if _mentions(text, name)]
    if not names and "SASL mechanism" in text:
        names = [name for name in settings if name in ("sasl.mechanism", "sasl.mechanisms")]
    name = max(names, key=len, default="")
    which = client.place_of(name) if name else "the settings"
    return RunError(
        "MS-RUN-KAFKA-SETTING",
        f"{client.owner}: librdkafka rejects {which}: {_without_secrets(text, client, settings)}.",
        fix="See the list of settings of librdkafka, in its file CONFIGURATION.md.",
    )


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text) is not None


def _without_secrets(text: str, client: Client, settings: Mapping[str, Any]) -> str:
    """Masks values that may be secret: those of a file, which is for secrets, too."""
    for name, value in settings.items():
        is_hidden = is_secret_name(name) or client.is_in_file(name)
        if is_hidden and isinstance(value, str) and len(value) >= _SHORT:
            text = text.replace(value, "***")
    return text
