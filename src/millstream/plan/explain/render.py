"""A job as a tree to read, or as data: two forms of one document."""

from __future__ import annotations

from typing import Any

from millstream.plan.connectors import ConnectorRegistry
from millstream.plan.document import Job as JobDocument
from millstream.plan.explain.document import build_document
from millstream.plan.explain.json_renderer import render_json
from millstream.plan.explain.text_renderer import render_text
from millstream.plan.installed_connectors import installed_connectors
from millstream.plan.nodes import Job


def explain(job: Job, connectors: ConnectorRegistry | None = None) -> str:
    """The job as a tree, at most 100 columns wide."""
    return render_text(_document(job, connectors))


def explain_json(job: Job, connectors: ConnectorRegistry | None = None) -> dict[str, Any]:
    """The job as JSON-able data, with the same facts as `explain`."""
    return render_json(_document(job, connectors))


def _document(job: Job, connectors: ConnectorRegistry | None) -> JobDocument:
    return build_document(job, installed_connectors() if connectors is None else connectors)
