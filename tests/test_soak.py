"""When a soak run fails: a process is larger in the last third of the time than in the second."""

from __future__ import annotations

from bench.soak import Sample, growing
from bench.soak_report import plot

MB = 1_000_000


def samples(process: str, sizes: list[int]) -> list[Sample]:
    return [Sample(10.0 * number, process, size * MB) for number, size in enumerate(sizes)]


def test_growth_during_warm_up_does_not_count():
    assert growing(samples("worker 1", [50, 100, 180, *[200] * 6])) == []


def test_a_process_that_keeps_growing_is_named_with_its_sizes():
    flat, grown = samples("jvm heap", [3000] * 10), samples("worker 7", list(range(100, 200, 10)))
    assert growing(flat + grown) == ["worker 7: 140 MB, then 175 MB"]


def test_a_jvm_may_claim_memory_until_its_heap_is_full():
    claimed = samples("jvm", list(range(1000, 3000, 200)))
    assert growing(claimed + samples("jvm heap", [150] * 10)) == []
    in_use = samples("jvm heap", list(range(100, 200, 10)))
    assert growing(claimed + in_use) == ["jvm heap: 140 MB, then 175 MB"]


def test_a_few_megabytes_more_are_no_growth():
    assert growing(samples("worker 1", [50, 50, 50, 50, 50, 50, 60, 60, 60])) == []


def test_a_worker_that_was_replaced_is_not_judged():
    early = [Sample(10.0 * number, "worker 1", 100 * MB) for number in range(3)]
    late = [Sample(10.0 * number, "worker 2", 300 * MB) for number in range(7, 10)]
    assert growing(early + late) == []


def test_the_plot_is_written(tmp_path):
    processes = ("driver", "jvm", "jvm heap", "worker 1")
    taken = [each for process in processes for each in samples(process, [1, 2])]
    plot(taken, tmp_path / "memory.png")
    assert (tmp_path / "memory.png").stat().st_size > 0
