"""Generates docs/reference/errors.md: all error codes with their meaning and an example message.

    python -m scripts.error_reference

Meanings are in `millstream.error_codes`. Messages are extracted from the code that raises them;
… replaces values.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from millstream.error_codes import CODES, FAMILIES

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "millstream"
TABLE = SOURCE / "error_codes.py"
PAGE = ROOT / "docs" / "reference" / "errors.md"
CODE = re.compile(r"MS-[A-Z]+(?:-[A-Z0-9]+)+")
GAP = "…"
HEAD = """# Errors

Every error has a code and a cause; most have a fix and a position in the text. This page lists all
codes, each with a typical message, in which … replaces values.

`--json` prints errors as JSON. In Spark's logs, an error of a worker is a line of JSON after
`[MILLSTREAM-ERROR]`.

This page is generated: `python -m scripts.error_reference`.
"""


@dataclass(frozen=True, slots=True)
class Use:
    """An occurrence of an error code in the source code, with its texts of cause and fix."""

    code: str
    cause: str = ""
    fix: str = ""

    @property
    def rank(self) -> int:
        """Sort key: uses with literal texts of cause and fix come first."""
        return -2 * _is_said(self.cause) - _is_said(self.fix)


def _is_said(text: str) -> bool:
    return len(re.findall(r"\w{2,}", text)) > 2


def uses(folder: Path = SOURCE) -> list[Use]:
    """Returns all uses of codes in a folder, in the order of files."""
    found: list[Use] = []
    for file in sorted(folder.rglob("*.py")):
        if file != TABLE:
            found += _uses_in(ast.parse(file.read_text(encoding="utf-8")))
    return found


def _uses_in(tree: ast.AST, local: Mapping[str, ast.expr] | None = None) -> Iterator[Use]:
    """Yields the uses in a tree. `local`: values of variables in the enclosing function."""
    for node in ast.iter_child_nodes(tree):
        known = _assigned(node) if isinstance(node, ast.FunctionDef) else local or {}
        if isinstance(node, ast.Constant) and _is_code(node):
            yield Use(str(node.value))
        if isinstance(node, ast.Call):
            for place, argument in enumerate(node.args):
                if _is_code(argument):
                    given = {each.arg: each.value for each in node.keywords}
                    after = [*node.args[place + 1 : place + 3], None, None]
                    cause, fix = given.get("cause", after[0]), given.get("fix", after[1])
                    yield Use(ast.literal_eval(argument), _text(cause, known), _text(fix, known))
        yield from _uses_in(node, known)


def _assigned(function: ast.FunctionDef) -> dict[str, ast.expr]:
    return {
        each.targets[0].id: each.value
        for each in ast.walk(function)
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name)
    }


def _is_code(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value) is not None
    )


def _text(node: ast.expr | None, local: Mapping[str, ast.expr]) -> str:
    """Returns a text with gaps for values; empty if no part of it is literal."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in local:
            return _text(local[name], {})
        case ast.JoinedStr(values=parts):
            return _joined([_text(part, {}) for part in parts])
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined([_text(left, local), _text(right, local)])
        case ast.IfExp(body=body):
            return _text(body, local)
    return ""


def _joined(parts: list[str]) -> str:
    return re.sub(f"{GAP}+", GAP, "".join(part or GAP for part in parts)) if any(parts) else ""


def page() -> str:
    examples: dict[str, Use] = {}
    for use in sorted(uses(), key=lambda use: use.rank):
        examples.setdefault(use.code, use)
    parts = [HEAD]
    for family, meaning in FAMILIES.items():
        parts.append(f"## {family}\n\n{meaning}\n")
        for code in sorted(code for code in CODES if code.startswith(f"{family}-")):
            parts.append(f"### {code}\n\n{CODES[code]}\n")
            if (example := examples[code]).rank < 0:
                parts.append(_message(example))
    return "\n".join(parts)


def _message(use: Use) -> str:
    lines = textwrap.wrap(f"{use.code}: {use.cause or GAP}", 100)
    if re.search(r"\w", use.fix):
        lines += textwrap.wrap(f"Fix: {use.fix}", 100)
    return "\n".join(["```", *lines, "```", ""])


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
