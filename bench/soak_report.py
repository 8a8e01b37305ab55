"""Reports a soak run: a line per sample, and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bench.soak import Sample


def show(samples: Sequence[Sample]) -> None:
    """Prints one line for the last sample."""
    now = [each for each in samples if each.seconds == samples[-1].seconds]
    driver = next(each for each in now if each.process == "driver")
    processes = "  ".join(
        f"{each.process} {each.rss / 1e6:.0f}"
        + (f" (cache {each.cache_bytes / 1e6:.1f})" if each.process.startswith("worker") else "")
        for each in now
    )
    state = f"{driver.state_rows:,} rows, {driver.state_bytes / 1e6:.1f} MB of state"
    print(
        f"{driver.seconds:6.0f} s  {driver.batches} batches  {state}  MB: {processes}", flush=True
    )


def plot(samples: Sequence[Sample], path: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (jvm, memory, cache) = plt.subplots(3, 1, figsize=(9, 10), sharex=True)
    for name in dict.fromkeys(each.process for each in samples):
        own = [each for each in samples if each.process == name]
        minutes = [each.seconds / 60 for each in own]
        axes = jvm if name.startswith("jvm") else memory
        axes.plot(minutes, [each.rss / 1e6 for each in own], label=name)
        if name.startswith("worker"):
            cache.plot(minutes, [each.cache_bytes / 1e6 for each in own], label=f"{name}: cache")
        elif name == "driver":
            state = [each.state_bytes / 1e6 for each in own]
            cache.plot(minutes, state, label="state of all queries", linestyle="dashed")
    jvm.set_ylabel("resident memory and heap in use, MB")
    memory.set_ylabel("resident memory, MB")
    cache.set_ylabel("MB")
    cache.set_xlabel("minutes")
    for axes in (jvm, memory, cache):
        axes.set_ylim(bottom=0)
        axes.grid(visible=True, alpha=0.3)
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path)
