"""Loads Protobuf schemas: .proto text, or descriptors as `protoc --descriptor_set_out` writes."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool
from google.protobuf.message import DecodeError

from millstream.connectors.kafka.formats.schema_error import SchemaError

_MAIN = "millstream_schema.proto"
_LOG = re.compile(r"WARNING: All log|[IWE]\d{4} ")  # of protoc, before an error
_SUPPLIED = "google/protobuf/"  # files that protoc has


@dataclass(frozen=True, slots=True)
class ProtobufSchema:
    """A message type: descriptors of files, serialized, and the path of the message in the last.

    `text` is the .proto, if it is known.
    """

    files: bytes
    path: tuple[int, ...] = (0,)
    text: str = ""

    @property
    def message(self) -> Any:
        """Returns the descriptor of the message."""
        every = _files(self.files)
        pool = descriptor_pool.DescriptorPool()
        for file in every:
            pool.Add(file)
        found = pool.FindFileByName(every[-1].name)
        types = list(found.message_types_by_name.values())
        message = None
        for index in self.path:
            if index >= len(types):
                raise SchemaError(f"it has no message {'.'.join(map(str, self.path))}")
            message, types = types[index], list(types[index].nested_types)
        assert message is not None
        return message

    def at(self, path: tuple[int, ...]) -> ProtobufSchema:
        return ProtobufSchema(self.files, path, self.text)

    def named(self, name: str) -> ProtobufSchema:
        """Returns the message of a name, with or without its package; of '' the only one."""
        main = _files(self.files)[-1]
        known = list(_messages(main))
        if not name:
            if len(main.message_type) == 1:
                return self.at((0,))
            raise SchemaError(
                f"it has the messages {', '.join(each for each, _ in known)}, and "
                "'protobuf.message' does not say which of them"
            )
        for each, path in known:
            if name in (each, f"{main.package}.{each}"):
                return self.at(path)
        raise SchemaError(
            f"it has no message {name}, but {', '.join(each for each, _ in known) or 'none'}"
        )


def load(path: Path) -> ProtobufSchema:
    """Loads a .proto file, with the files beside it that it imports, or a descriptor set."""
    data = path.read_bytes()
    if path.suffix == ".proto":
        text = data.decode("utf-8", "replace")
        return ProtobufSchema(_compiled(path.name, [path.parent]), text=text)
    found = descriptor_pb2.FileDescriptorSet()
    try:
        found.ParseFromString(data)
    except DecodeError:
        raise SchemaError("it is neither a .proto file nor a set of descriptors") from None
    if not found.file:
        raise SchemaError("it has no descriptors; write it with protoc --descriptor_set_out")
    return ProtobufSchema(data)


def compile_text(text: str, imports: Mapping[str, str] | None = None) -> ProtobufSchema:
    """Compiles .proto text; `imports` are the texts of other files by name."""
    with tempfile.TemporaryDirectory(prefix="millstream-proto-") as folder:
        root = Path(folder)
        for name, each in {**(imports or {}), _MAIN: text}.items():
            if name.startswith(_SUPPLIED):
                continue
            file = (root / name).resolve()
            if not file.is_relative_to(root.resolve()):
                raise SchemaError(f"it imports {name}, which is not a relative name")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(each, encoding="utf-8")
        return ProtobufSchema(_compiled(_MAIN, [root]), text=text)


def _compiled(name: str, folders: Iterable[Path]) -> bytes:
    with tempfile.TemporaryDirectory(prefix="millstream-proto-") as folder:
        out = Path(folder) / "set"
        command = [sys.executable, "-m", "grpc_tools.protoc", "--include_imports"]
        command += [f"-I{each}" for each in folders]
        done = subprocess.run(  # noqa: S603 -- protoc, with a file as its argument
            [*command, f"--descriptor_set_out={out}", name],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return out.read_bytes()
    if "No module named" in done.stderr:
        raise SchemaError("grpcio-tools, which compiles .proto text, is not installed")
    lines = [line.strip() for line in done.stderr.splitlines() if not _LOG.match(line)]
    shown = "; ".join(line.rsplit(f"{name}:", 1)[-1] for line in lines[:3] if line)
    raise SchemaError(f"it cannot be compiled: {shown.rstrip('.')}")


def _files(data: bytes) -> list[Any]:
    found = descriptor_pb2.FileDescriptorSet()
    found.ParseFromString(data)
    return list(found.file)


def _messages(file: Any) -> Iterable[tuple[str, tuple[int, ...]]]:
    """Yields the messages of a file, outer before inner, each with its path."""

    def of(types: Any, prefix: str, path: tuple[int, ...]) -> Iterable[tuple[str, tuple[int, ...]]]:
        for number, each in enumerate(types):
            if not each.options.map_entry:
                yield prefix + each.name, (*path, number)
                yield from of(each.nested_type, f"{prefix}{each.name}.", (*path, number))

    return of(file.message_type, "", ())
