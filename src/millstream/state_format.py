"""The format of stored state, and the comparison of identities of jobs and operators.

An identity is a document with everything that state depends on, as values that JSON supports. Keys
that end in `_us` have microseconds. `plan.identity` derives it from a plan; this module only
compares identities, so workers need no plan.
"""

from __future__ import annotations

import json
from typing import Any

from millstream.errors import StateError
from millstream.temporal import format_span

# Increased whenever a checkpoint of an older version cannot be resumed. 4: derived identities.
# 5: any number of tables in a manifest, watermark progress per source partition.
# 6: names in identities, manifests, counts and ledger. 7: sinks and unread columns are output.
STATE_FORMAT = 7
FORMAT_FIX = (
    "Use the version of Millstream that wrote the checkpoint, or start again: with another "
    "checkpoint, or with `millstream run --fresh`, which removes the checkpoint and the files of "
    "file sinks."
)
_WORDS = {
    "how": "type",
    "used": "columns in state",
    "physical": "",
    "result": "",
    "outputs": "column",
}


def canonical_json(document: Any) -> str:
    """Returns the unique JSON text of a document."""
    return json.dumps(document, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def reject_format(found: object, what: str) -> None:
    """Raises an error for state in another format than this version reads."""
    if found != STATE_FORMAT:
        written = "an older format" if found is None else f"format {found}"
        raise StateError(
            "MS-STATE-FORMAT",
            f"{what} was written in {written}; this version of Millstream reads format "
            f"{STATE_FORMAT}.",
            fix=FORMAT_FIX,
        )


def reject_changed_identity(old: str | None, new: str) -> None:
    """Raises an error for state of an operator with another identity. Both are canonical texts."""
    if old == new:
        return
    stored = {} if old is None else json.loads(old)
    reject_format(stored.get("format"), "the state")
    if found := describe_changes(stored, json.loads(new)):
        raise StateError(
            "MS-STATE-CHANGED",
            f"the checkpoint was written by another query: {'; '.join(found)}.",
            fix="Undo the change to resume, or start again with another checkpoint.",
        )


def describe_changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Returns a sentence for each change, such as "interval join bounds upper: 1d -> 2d"."""
    return _changes("", old, new)


def _changes(path: str, old: Any, new: Any) -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        kind = str(old.get("operator", ""))
        if path == "outputs":
            return _of_documents("output", old, new)
        titled = path == "" and kind == new.get("operator")
        return _of_documents(kind if titled else path, old, new)
    if isinstance(old, list) and isinstance(new, list):
        if path == "operators":
            return _of_documents("", _by_kind(old), _by_kind(new))
        by_name = _by_name(old), _by_name(new)
        if by_name[0] is not None and by_name[1] is not None:
            return _of_documents(path, by_name[0], by_name[1])
        if len(old) == len(new) and all(isinstance(each, dict | list) for each in (*old, *new)):
            return [
                change
                for number, pair in enumerate(zip(old, new, strict=True), start=1)
                for change in _changes(f"{path} {number}" if len(old) > 1 else path, *pair)
            ]
    if old == new:
        return []
    return [f"{_words(path)}: {_say(path, old)} -> {_say(path, new)}"]


def _of_documents(path: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    found = []
    for key in [*old, *(key for key in new if key not in old)]:
        inner = f"{path} {key}".strip()
        if key not in new:
            found.append(f"{_words(inner)} is gone")
        elif key not in old:
            found.append(f"{_words(inner)} is new: {_say(key, new[key])}")
        else:
            found += _changes(inner, old[key], new[key])
    return found


def _by_kind(operators: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns operators by kind; several of one kind are numbered."""
    found: dict[str, Any] = {}
    for operator in operators:
        kind = operator["operator"]
        number = sum(1 for each in found.values() if each["operator"] == kind) + 1
        found[kind if number == 1 else f"{kind} #{number}"] = operator
    return found


def _by_name(items: list[Any]) -> dict[str, Any] | None:
    """Returns items that have a name, such as columns, by name, so that their order does not
    matter."""
    if not all(isinstance(item, dict) and "name" in item for item in items):
        return None
    return {
        item["name"]: {key: value for key, value in item.items() if key != "name"} for item in items
    }


def _words(path: str) -> str:
    words = (_WORDS.get(word, word.removesuffix("_us").replace("_", " ")) for word in path.split())
    return " ".join(word for word in words if word)


def _say(path: str, value: Any) -> str:
    if isinstance(value, dict):
        inner = (f"{_words(key)} {_say(key, each)}" for key, each in value.items())
        return ", ".join(inner) or "none"
    if isinstance(value, list):
        return ", ".join(_say(path, item) for item in value) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if path.endswith("_us") and isinstance(value, int):
        return format_span(value)
    return "none" if value is None or value == "" else str(value)
