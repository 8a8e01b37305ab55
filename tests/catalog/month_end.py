"""The definitions of a small catalog as YAML."""

from __future__ import annotations

from pathlib import Path

DATASETS = """\
datasets:
  - name: transactions
    main_table:
      temporal_mode: period
      columns:
        id: BIGINT
        currency: STRING
        amount: DECIMAL(18, 2)
  - name: fx
    id: 5a1de2ce-70f1-4bb4-8b8c-0a3f4c4f8a01
    description: Rates of the central bank
    main_table:
      name: rates
      temporal_mode: bitemporal
      columns: {from_currency: STRING, to_currency: STRING, rate: "DECIMAL(18, 6)"}
    resolver:
      name: path
      config: {template: "data/{name}/v{version}.parquet"}
"""
PERIODS = """\
periods:
  - {identifier: 2026, level: year, start: 2026-01-01, end: 2026-12-31}
  - {identifier: 2026-Q1, level: quarter, start: 2026-01-01, end: 2026-03-31, parent: 2026}
  - {identifier: 2026-01, level: month, start: 2026-01-01, end: 2026-01-31, parent: 2026-Q1}
  - {identifier: 2026-02, level: month, start: 2026-02-01, end: 2026-02-28, parent: 2026-Q1}
"""
PROJECTS = """\
projects:
  - name: month_end
    input: transactions
    operations:
      - type: update
        arguments:
          joins:
            - alias: fx
              dataset: fx
              dataset_version: 2
              on: "transactions.currency = fx.from_currency AND fx.to_currency = 'USD'"
              expected_cardinality: many_to_one
          assignments:
            - column: amount_usd
              expression: |
                amount
                  * fx.rate
    resolver_overrides:
      customers: catalog
      5a1de2ce-70f1-4bb4-8b8c-0a3f4c4f8a01:
        name: path
        config: {template: "other/{version}.csv"}
    output:
      location: out/{period}
"""


def write(folder: Path, **files: str) -> Path:
    """Writes files of definitions, by default those above. Returns the folder."""
    given = files or {"datasets": DATASETS, "periods": PERIODS, "projects": PROJECTS}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in given.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder
