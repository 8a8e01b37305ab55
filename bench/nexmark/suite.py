"""The queries: their texts, what they read, and what is not there yet for them to run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from bench.nexmark.write import Data
from millstream.plan.build.job import build_job
from millstream.plan.facts.pipeline import derive_job_facts
from millstream.plan.nodes import Engine, Job

HERE = Path(__file__).resolve().parent
DELAY = 4_000_000  # microseconds by which watermarks lag, as in the public suite


@dataclass(frozen=True, slots=True)
class Query:
    """`reads` are the kinds of events it takes in."""

    name: str
    about: str
    reads: tuple[str, ...] = ("bid",)

    def sql(self) -> str:
        """The job in Millstream's SQL, with names to be filled in."""
        texts = (HERE / "queries" / f"{name}.sql" for name in ("sources", self.name))
        return "\n".join(text.read_text(encoding="utf-8") for text in texts)

    def oracle(self) -> str:
        """The result in DuckDB's SQL, over all events at once."""
        return (HERE / "oracle" / f"{self.name}.sql").read_text(encoding="utf-8")


QUERIES = {
    query.name: query
    for query in (
        Query("q0", "pass through"),
        Query("q1", "currency conversion"),
        Query("q2", "selection"),
        Query("q3", "local item suggestion", ("person", "auction")),
        Query("q4", "average price for a category", ("auction", "bid")),
        Query("q5", "hot items"),
        Query("q6", "average selling price by seller", ("auction", "bid")),
        Query("q7", "highest bid"),
        Query("q8", "monitor new users", ("person", "auction")),
        Query("q9", "winning bids", ("auction", "bid")),
        Query("q10", "log to file system"),
        Query("q11", "user sessions"),
        Query("q12", "processing time windows"),
        Query("q13", "bounded side input join"),
        Query("q14", "calculation"),
        Query("q15", "bidding statistics report"),
        Query("q16", "channel statistics report"),
        Query("q17", "auction statistics report"),
        Query("q18", "find last bid"),
        Query("q19", "auction top-10 price"),
        Query("q20", "expand bid with auction", ("auction", "bid")),
        Query("q21", "add channel id"),
        Query("q22", "get URL directories"),
    )
}


def variables(data: Data, out: Path, files: int = 1, delay: int = DELAY) -> dict[str, str]:
    """What the texts leave open: where rows are, and how far apart related events can be."""
    options = data.options
    values = {
        "data": data.folder,
        "format": data.format,
        "files": files,
        "out": out,
        "delay": delay,
        "longest_auction": options.longest_auction,
        "two_auctions": 2 * options.longest_auction,
        "bids_before": options.bids_before,
        "bids_after": options.bids_after,
        "bids_last": options.bids_last,
        "acts_before": options.acts_before,
        "acts_after": options.acts_after,
        "sells_last": options.sells_last,
    }
    return {name: str(value) for name, value in values.items()}


def job_of(query: Query, data: Data, out: Path, *, files: int, engine: str) -> Job:
    """The query's job on an engine; a PlanError with MS-PLAN-ENGINE if that cannot run it."""
    job = build_job(query.sql(), variables=variables(data, out, files))
    chosen_engine = Engine(engine)
    job = replace(
        job, pipelines=tuple(replace(each, engine=chosen_engine) for each in job.pipelines)
    )
    derive_job_facts(job)
    return job
