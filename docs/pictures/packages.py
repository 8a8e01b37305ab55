"""The packages of Millstream and their imports, read from the source: nothing is placed by hand.

An arrow points to what a package imports. Imports that follow from other arrows are left out. A
cycle is an error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

from docs.pictures.canvas import BAND, GRID, HEAVY, INK, LEFT, QUIET, Canvas

SOURCE = Path(__file__).parents[2] / "src" / "millstream"
_INSIDE = ("plan", "kernels", "engine")  # packages that are shown with their own packages
_WIDTH, _HEIGHT, _ROW, _MARGIN = 124, 26, 54, 18

Graph = dict[str, set[str]]


def packages() -> str:
    graphs = [("millstream", graph_of(""))]
    graphs += [(f"millstream.{name}", graph_of(name)) for name in _INSIDE]
    levels = [levels_of(graph) for _, graph in graphs]
    width = max(len(level) for each in levels for level in each) * (_WIDTH + 12) + 2 * _MARGIN
    height = sum(len(each) * _ROW + 44 for each in levels)
    canvas = Canvas(width, height, "The packages of Millstream and what they import")
    top = 0
    for (title, graph), rows in zip(graphs, levels, strict=True):
        canvas.text(_MARGIN, top + 22, title, INK, "start", 15)
        _draw(canvas, graph, rows, top + 34)
        top += len(rows) * _ROW + 44
        canvas.path([(0, top - 4), (width, top - 4)], GRID)
    return canvas.svg()


def _draw(canvas: Canvas, graph: Graph, rows: list[list[str]], top: float) -> None:
    places = {
        name: (_MARGIN + number * (_WIDTH + 12), top + level * _ROW)
        for level, names in enumerate(rows)
        for number, name in enumerate(names)
    }
    for name, below in sorted(reduced(graph).items()):
        x, y = places[name]
        for each in sorted(below):
            to_x, to_y = places[each]
            start, end = (x + _WIDTH / 2, y + _HEIGHT), (to_x + _WIDTH / 2, to_y)
            canvas.path([start, end], HEAVY)
            canvas.path([(end[0] - 3, end[1] - 5), end, (end[0] + 3, end[1] - 5)], QUIET)
    for name, (x, y) in places.items():
        canvas.box(x, y, _WIDTH, _HEIGHT, BAND, LEFT)
        canvas.text(x + _WIDTH / 2, y + 17, name, INK, size=11)


def graph_of(package: str) -> Graph:
    """The direct parts of a package, modules and packages, and which of the others each imports."""
    folder = SOURCE / package
    prefix = ["millstream", *([package] if package else [])]
    parts = {
        path.stem if path.is_file() else path.name: path
        for path in sorted(folder.iterdir())
        if (path.suffix == ".py" and path.stem != "__init__") or (path / "__init__.py").exists()
    }
    graph: Graph = {name: set() for name in parts}
    for name, path in parts.items():
        for file in [path] if path.is_file() else path.rglob("*.py"):
            for module in _imports(file):
                if module[: len(prefix)] == prefix and len(module) > len(prefix):
                    other = module[len(prefix)]
                    if other in parts and other != name:
                        graph[name].add(other)
    return graph


def _imports(file: Path) -> Iterator[list[str]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield [*node.module.split("."), alias.name]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)


def levels_of(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The parts by their distance from the top: each above everything it imports."""
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError
    depth = dict.fromkeys(graph, 0)
    for name in reversed(order):
        for below in graph[name]:
            depth[below] = max(depth[below], depth[name] + 1)
    rows: list[list[str]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in sorted(graph):
        rows[depth[name]].append(name)
    return rows


def reduced(graph: Mapping[str, set[str]]) -> Graph:
    """The graph without edges that follow from longer paths."""
    reach: Graph = {}
    for name in TopologicalSorter(graph).static_order():
        reach[name] = set().union(*(reach[each] | {each} for each in graph[name]))
    return {
        name: {
            each
            for each in below
            if not any(each in reach[other] for other in below if other != each)
        }
        for name, below in graph.items()
    }
