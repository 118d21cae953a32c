"""`python -m tests.simulation [--scale N]`: the tables that docs/formulas.md quotes. N times as many
campaigns as the tests simulate; scale 1 takes about a minute.
"""

import argparse
from collections.abc import Iterable

from tests.simulation import claims, coverage


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0)
    scale = parser.parse_args().scale
    campaigns = int(2000 * scale)
    for name, rows in coverage.FAMILIES.items():
        table(
            f"{name}: coverage, median width, campaigns with an interval ({coverage.BLOCKS} "
            "blocks)",
            rows(campaigns),
        )
    table(
        "candidate methods: blocks, coverage, median width of the log-ratio",
        coverage.methods(campaigns),
    )
    table("false claims, arms that are equal", claims.false_claims(claims.EQUAL, scale))
    table("false claims, arms at the edge of a claim", claims.false_claims(claims.DIFFERENT, scale))
    table("found: ratios promised by resolvable_ratio", claims.power_of_promised_ratios(scale))
    table("found: with the blocks proposed, sd known", claims.power_of_proposed_blocks(scale))
    table("found: with the blocks proposed, sd from a pilot", claims.power_after_pilots(scale))
    table("false claims with looks", claims.false_claims_of_looks(scale))
    table("false claims, the budget ends between looks", claims.false_claims_of_budgets(scale))
    table("false claims, spoilt blocks run behind a look", claims.false_claims_of_filled(scale))
    table(
        "for comparison: counted as if they had been there",
        claims.false_claims_of_filled(scale, naive=True),
    )
    table("for comparison: without shares of alpha", claims.false_claims_of_naive_looks(scale))
    table("blocks used with looks", claims.saved_by_looks(scale))


def table(title: str, rows: Iterable[object]) -> None:
    print(f"\n{title}")
    for row in rows:
        print(f"  {row}", flush=True)


if __name__ == "__main__":
    main()
