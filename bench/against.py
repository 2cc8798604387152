"""Two trees measured against each other: both serve at once, and small batches of the same reviews go to them in turn.

What slows the machine down for a second slows both, so their ratio is steady where those of runs one after the other
are not. Prints for each case the ratio of processor time of each run, this tree's against the other's, and the median.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from bench.__main__ import injectors, make_certificates, run_once
from bench.cases import CASES, Case, Target, with_variables


def ratio(this: Target, other: Target, case: Case, batches: int, requests: int) -> float:
    """Processor time of this tree's server against that of the other's, over all batches."""
    spent = {this: 0.0, other: 0.0}
    for number in range(batches):
        bodies = case.bodies(this, requests)
        for target in (this, other) if number % 2 else (other, this):
            own = bodies if case.path != "/validate" or target is this else case.bodies(target, requests)
            sent = [own[place % len(own)] for place in range(requests)]
            spent[target] += run_once(target, case, sent, 4)[0]
    return spent[this] / spent[other]


def main() -> None:
    """Compare this tree with another one, in which `make setup` has run."""
    parser = argparse.ArgumentParser(prog="python -m bench.against", description=__doc__)
    parser.add_argument("tree", type=Path, help="the other tree")
    parser.add_argument("--runs", type=int, default=5, help="runs of each case (default 5)")
    parser.add_argument("--batches", type=int, default=20, help="batches a run (default 20)")
    parser.add_argument("--requests", type=int, default=40, help="requests a batch (default 40)")
    options = parser.parse_args()
    python = str(options.tree.resolve() / ".venv" / "bin" / "python")
    with tempfile.TemporaryDirectory() as folder:
        certificates = make_certificates(Path(folder))
        with injectors(certificates) as here, injectors(certificates, python) as there:
            for case in (*CASES, *with_variables(2000)):
                if case.server in here:
                    this, other = here[case.server], there[case.server]
                    ratio(this, other, case, 2, options.requests)  # warms up both
                    ratios = [ratio(this, other, case, options.batches, options.requests) for _ in range(options.runs)]
                    runs = " ".join(f"{value:.2f}" for value in ratios)
                    print(f"{median(ratios):.3f}  ({runs})  {case.name}", flush=True)


if __name__ == "__main__":
    main()
