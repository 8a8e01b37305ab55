"""Two sinks in one folder would replace each other's files: refused before anything runs."""

from __future__ import annotations

import pytest

from millstream.errors import PlanError
from millstream.plan.build import build_job
from millstream.run import settings

_JOB = """
CREATE SOURCE s (id INT) WITH ('connector' = 'rate');
CREATE SINK a WITH ('connector' = 'file', 'path' = 'out') AS SELECT id FROM s;
CREATE SINK b WITH ('connector' = 'file', 'path' = './out/') AS SELECT id FROM s;
"""


def test_two_file_sinks_of_one_path_are_refused():
    with pytest.raises(PlanError) as caught:
        settings._refuse_what_cannot_be_used(build_job(_JOB))
    assert caught.value.code == "MS-PLAN-SHARED-SINK"
    assert "the sinks a and b both write to out" in caught.value.cause
