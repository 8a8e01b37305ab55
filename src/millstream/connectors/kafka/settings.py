"""Names of settings that a job passes to librdkafka."""

from __future__ import annotations

PREFIX = "kafka."
