"""Remembers the outputs on which checks have ended well: the same outputs of the same models get the same verdict.

Where outputs differ by more than a tolerance, they are judged by values computed in float64, which take longer than all
else in a check. The models run in every check; what follows from their outputs is the same as long as these are, bit
by bit.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import sha256

from taso_opt.cost import CostTable
from taso_opt.runtime import OutputComparison, OutputDifference
from taso_opt.runtime.inputs import add_array
from taso_opt.search.judging.agreement import Agreement, Outputs


@dataclass(frozen=True)
class RememberedVerdicts:
    """The verdicts on one question at one place of the cost table."""

    table: CostTable
    place: str
    question: str

    def recall(self, outputs: Outputs) -> Agreement | None:
        """How a check ended in which the models gave these outputs; None where there was none."""
        text = self.table.verdict(self.place, self._check(outputs))
        return None if text is None else _read(text)

    def remember(self, outputs: Outputs, found: Agreement) -> None:
        """Remember how a check ended, if it ended well."""
        if not (found.failure or found.reasons):
            self.table.pass_verdict(self.place, self._check(outputs), json.dumps(asdict(found)))

    def _check(self, outputs: Outputs) -> str:
        digest = sha256(self.question.encode())
        for run in outputs:
            digest.update(b"run")
            for array in run:
                add_array(digest, array)
        return digest.hexdigest()


def _read(text: str) -> Agreement:
    found = json.loads(text)
    comparisons = (
        OutputComparison(tuple(OutputDifference(**one) for one in each["outputs"])) for each in found["comparisons"]
    )
    return Agreement(tuple(comparisons), tuple(found["warnings"]))
