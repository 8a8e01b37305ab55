"""Reads and registers schemas by the REST API of Confluent's Schema Registry, which others have."""

from __future__ import annotations

import base64
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cachetools import LRUCache, TTLCache

from millstream.connectors.kafka.client import Owner, WaitNotice
from millstream.connectors.paths import resolve
from millstream.errors import RunError
from millstream.temporal import parse_span

_TYPE = "application/vnd.schemaregistry.v1+json"
_ONE_TRY = 10.0  # seconds
_PAUSE = 0.5
_MISSING, _CONFLICT = 404, (409, 422)


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema as the registry has it. `references`: texts of other schemas, by their names."""

    text: str
    kind: str = "AVRO"
    references: tuple[tuple[str, str], ...] = ()


class RegistryConflictError(Exception):
    """The registry rejects a schema that is not compatible with earlier ones."""


@dataclass(frozen=True, slots=True)
class Registry:
    """How a registry is reached; picklable and without secrets.

    Attributes:
        owner: "source orders", for errors.
        username, password: The login; the password is the name of an environment variable.
        token: The environment variable with a bearer token.
        ca: The file of trusted certificates; empty: those of the system.
        retry: Seconds that a running job waits for a registry that does not answer.
    """

    owner: str
    url: str
    username: str = ""
    password: str = ""
    token: str = ""
    ca: str = ""
    connect: float = 30.0
    retry: float = 600.0

    @classmethod
    def of(cls, what: str, owner: Owner, base: Path) -> Self | None:
        """Returns the registry that a source or sink names; None if it names none."""
        url = owner.option("schema.registry.url").rstrip("/")
        if not url:
            return None
        ca = owner.option("schema.registry.ca.location")
        return cls(
            f"{what} {owner.name}",
            url,
            owner.option("schema.registry.username"),
            owner.option("schema.registry.password.env"),
            owner.option("schema.registry.token.env"),
            resolve(ca, base) if ca else "",
            parse_span(owner.option("connect.timeout", "30s")) / 1e6,
            parse_span(owner.option("retry.timeout", "10m")) / 1e6,
        )

    def schema(self, number: int) -> RegisteredSchema | None:
        """Returns the schema of an id; None if the registry has none. Called on executors."""
        key = self.url, number
        if key in _UNKNOWN:
            return None
        if key not in _SCHEMAS:
            found = self._get(f"/schemas/ids/{number}", self.retry)
            if found is None:
                _UNKNOWN[key] = True
                return None
            _SCHEMAS[key] = self._registered(found, self.retry)
        return _SCHEMAS[key]

    def latest(self, subject: str) -> tuple[int, RegisteredSchema] | None:
        """Returns the newest schema of a subject with its id; None if there is none. Called on the
        driver."""
        found = self._get(f"/subjects/{_quoted(subject)}/versions/latest", self.connect)
        if found is None:
            return None
        return int(found["id"]), self._registered(found, self.connect)

    def register(self, subject: str, schema: RegisteredSchema) -> int:
        """Adds a schema to a subject unless it has it, and returns its id. Raises
        RegistryConflictError."""
        key = self.url, subject, schema.text
        if key in _REGISTERED:
            return _REGISTERED[key]
        body: dict[str, Any] = {"schema": schema.text}
        if schema.kind != "AVRO":
            body["schemaType"] = schema.kind
        path = f"/subjects/{_quoted(subject)}/versions"
        found = self._request(path, self.connect, json.dumps(body).encode())
        if found is None:
            raise self._failed("it has no such address")
        _REGISTERED[key] = int(found["id"])
        return _REGISTERED[key]

    def _registered(self, found: Mapping[str, Any], patience: float) -> RegisteredSchema:
        references: dict[str, str] = {}
        for each in found.get("references") or ():
            path = f"/subjects/{_quoted(each['subject'])}/versions/{int(each['version'])}"
            other = self._get(path, patience)
            if other is None:
                raise self._failed(f"the schema {each['subject']}, which another needs, is missing")
            inner = self._registered(other, patience)
            references |= {**dict(inner.references), each["name"]: inner.text}
        kind = found.get("schemaType") or "AVRO"
        return RegisteredSchema(str(found["schema"]), str(kind), tuple(references.items()))

    def _get(self, path: str, patience: float) -> dict[str, Any] | None:
        return self._request(path, patience, None)

    def _request(self, path: str, patience: float, body: bytes | None) -> dict[str, Any] | None:
        """Returns the answer; None for 404. Waits for a registry that does not answer."""
        begin = time.monotonic()
        notice = WaitNotice(self.owner, self.url, patience)
        while True:
            try:
                return self._once(path, body)
            except urllib.error.HTTPError as error:
                code, reason = error.code, _message(error)
                if code == _MISSING:
                    return None
                if code in _CONFLICT and body is not None:
                    raise RegistryConflictError(reason) from None
                if code < 500 and code != 429:
                    raise self._rejected(code, reason) from None
                reason = f"it answers {code}: {reason}"
            except (OSError, ValueError) as error:
                reason = str(getattr(error, "reason", error)) or type(error).__name__
            if time.monotonic() - begin > patience:
                raise self._failed(f"{reason} (for {patience:g}s)")
            notice.show()
            time.sleep(_PAUSE)

    def _once(self, path: str, body: bytes | None) -> dict[str, Any]:
        headers = {"Accept": f"{_TYPE}, application/json", "Content-Type": _TYPE, **self._login()}
        request = urllib.request.Request(f"{self.url}{path}", body, headers)  # noqa: S310 -- checked
        context = ssl.create_default_context(cafile=self.ca or None) if self._is_secure else None
        with urllib.request.urlopen(request, timeout=_ONE_TRY, context=context) as answer:  # noqa: S310
            found = json.load(answer)
        if not isinstance(found, dict):
            raise ValueError("the answer is not that of a schema registry")  # noqa: TRY004
        return found

    @property
    def _is_secure(self) -> bool:
        return self.url.startswith("https:")

    def _login(self) -> dict[str, str]:
        if self.token:
            return {"Authorization": f"Bearer {self._secret(self.token)}"}
        if not self.username:
            return {}
        pair = f"{self.username}:{self._secret(self.password) if self.password else ''}"
        return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}

    def _secret(self, name: str) -> str:
        found = os.environ.get(name)
        if found is None:
            raise RunError(
                "MS-RUN-KAFKA-REGISTRY",
                f"{self.owner}: the environment variable {name}, which the login of the schema "
                "registry needs, is not set.",
                fix="Set it for the driver and the executors.",
            )
        return found

    def _rejected(self, code: int, reason: str) -> RunError:
        return RunError(
            "MS-RUN-KAFKA-REGISTRY",
            f"{self.owner}: the schema registry at {self.url} rejected a request ({code}): "
            f"{reason}.",
            fix="Check 'schema.registry.username' and the password, or 'schema.registry.token.env'."
            if code in (401, 403)
            else "Check 'schema.registry.url'.",
        )

    def _failed(self, reason: str) -> RunError:
        return RunError(
            "MS-RUN-KAFKA-REGISTRY",
            f"{self.owner}: the schema registry at {self.url} cannot be used: {reason}.",
            fix="Check 'schema.registry.url' and that the registry runs.",
        )


# A schema never changes under its id. That there is none may change.
_SCHEMAS: LRUCache[tuple[str, int], RegisteredSchema] = LRUCache(1000)
_REGISTERED: LRUCache[tuple[str, str, str], int] = LRUCache(1000)
_UNKNOWN: TTLCache[tuple[str, int], bool] = TTLCache(10_000, 60)


def _quoted(subject: str) -> str:
    return urllib.parse.quote(subject, safe="")


def _message(error: urllib.error.HTTPError) -> str:
    try:
        found = json.loads(error.read())
        text = str(found["message"])
    except (ValueError, KeyError, TypeError, OSError):
        text = str(error.reason)
    return " ".join(text.split()).rstrip(".")[:300]
