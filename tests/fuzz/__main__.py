"""`python -m tests.fuzz sql|pipelines|kills|kernels --seconds N [--seed S] [--replay SEED]`."""

from __future__ import annotations

import argparse
import random
import signal
import sys

from tests.fuzz.campaign import Campaign, Fuzzer

MODES = ("sql", "pipelines", "kills", "kernels")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("mode", choices=MODES)
    parser.add_argument("--seconds", type=float, default=60, help="stop after this time")
    parser.add_argument("--seed", type=int, help="of all cases; random by default")
    parser.add_argument("--cases", type=int, help="stop after so many cases")
    parser.add_argument("--replay", type=int, metavar="SEED", help="repeat one case, in detail")
    given = parser.parse_args(arguments)
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1_000_000)
    if given.mode == "kernels":
        from tests.fuzz.kernels import run

        return run(seed, given.seconds)
    fuzzer = _fuzzer(given.mode, verbose=given.replay is not None)
    campaign = Campaign(fuzzer, seed)
    if given.replay is not None:
        campaign.try_case(given.replay)
        return campaign.summary()
    return campaign.run(given.seconds, given.cases)


def _fuzzer(mode: str, *, verbose: bool) -> Fuzzer:
    if mode == "sql":
        from tests.fuzz.texts import TextFuzzer

        return TextFuzzer(verbose=verbose)
    if mode == "pipelines":
        from tests.fuzz.pipelines import PipelineFuzzer

        return PipelineFuzzer(verbose=verbose)
    from tests.fuzz.kills import KillFuzzer

    return KillFuzzer(verbose=verbose)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does: with a summary
    sys.exit(main())
