"""What a process has cached is bounded, with its siblings, and follows the manifests."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from tests.kernels.state.test_segment_log import Steps

from millstream.kernels.state import segment_cache as cache
from millstream.kernels.state.cache_sizes import CacheSizes
from millstream.kernels.state.manifest import Manifest, index_uid
from millstream.kernels.state.segment_cache import UNUSED_SECONDS, SegmentCache


def manifest(steps: Steps) -> Manifest:
    return Manifest.load(steps.state.values["meta"].content, 2)


@pytest.fixture
def workers(monkeypatch) -> list[SegmentCache]:
    """The caches of two workers; index 0 is current."""
    caches = [SegmentCache(1 << 30), SegmentCache(1 << 30)]
    monkeypatch.setattr(cache, "_cache", caches[0])
    return caches


def test_segments_that_another_worker_dropped_leave_the_cache(workers, monkeypatch):
    steps = Steps(upper=60_000_000)
    for step in range(40):  # the key group moves from worker to worker
        monkeypatch.setattr(cache, "_cache", workers[step % 2])
        start = step * 100
        steps.step(range(start, start + 100), range(start, start + 100), watermark=start)
        live = manifest(steps).uids()
        cached = {uid for uid in live if uid in cache._cache}
        assert len(cache._cache) == len(cached) > 0
        assert cache._cache.nbytes < 100_000


def test_a_key_group_that_is_processed_elsewhere_leaves_the_cache_in_time():
    now = [0.0]
    stored = SegmentCache(1000, advance=lambda: now[0])
    stored.put(1, 11, "of a group that moved", 10)
    stored.put(2, 21, "of a group that stays", 10)
    now[0] = UNUSED_SECONDS
    stored.retain(2, {21})
    assert 11 in stored
    now[0] += 1
    stored.retain(2, {21})
    assert 11 not in stored
    assert stored.get(21) == "of a group that stays"


def test_the_cache_stays_within_its_budget_and_drops_what_it_evicts():
    stored = SegmentCache(100)
    for uid in range(1, 50):
        stored.put(uid % 3, uid, pl.DataFrame(), 30)
        assert stored.nbytes <= 100
    stored.put(9, 99, "larger than all", 101)
    assert 99 not in stored
    assert len(stored) == 3
    for owner in range(3):
        stored.retain(owner, ())
    assert (len(stored), stored.nbytes) == (0, 0)


def test_an_index_over_a_segment_is_dropped_with_the_segment():
    stored = SegmentCache(100)
    stored.put(1, 5, "rows", 10)
    stored.put(1, index_uid(5), "index", 10)
    stored.retain(1, {5, index_uid(5)})
    assert len(stored) == 2
    stored.retain(1, set())
    assert len(stored) == 0


def test_workers_share_one_budget(tmp_path: Path):
    """Each may use what the others leave, and at least an equal part."""
    sizes = CacheSizes.open(str(tmp_path / "sizes"))
    to_child, from_parent = os.pipe()
    to_parent, from_child = os.pipe()
    child = os.fork()
    if not child:  # a worker that has 80 of 100 bytes cached
        sizes.publish(80, 4)
        os.write(from_child, b".")
        os.read(to_child, 1)
        os._exit(0)
    os.read(to_parent, 1)
    stored = SegmentCache(100, sizes)
    assert sizes.limit(100) == 50
    for uid in range(1, 20):
        stored.put(1, uid, uid, 10)
    assert stored.nbytes == 50
    assert {size.nbytes for size in CacheSizes.attach(tmp_path / "sizes").sizes()} == {80, 50}
    os.write(from_parent, b".")
    os.waitpid(child, 0)
    for uid in range(1, 20):
        stored.put(1, uid, uid, 10)
    assert stored.nbytes == 100
    for each in (to_child, from_parent, to_parent, from_child):
        os.close(each)
