"""Rules drawn as trees of text."""

from taso_opt.report.tree import rule_lines
from taso_opt.spec import load_specs
from taso_opt.spec.text import parse_rule

MERGE = (
    "(MatMul(x, y), MatMul(z, y)) = (Split(MatMul(Concat(x, z; axis=-2), y); axis=-2, sizes=(m, p))[0], "
    "Split(MatMul(Concat(x, z; axis=-2), y); axis=-2, sizes=(m, p))[1]) where x[*b, m, k], y[k, n], z[*b, p, k]"
)


def test_what_both_outputs_use_is_drawn_once():
    assert list(rule_lines(parse_rule(MERGE, load_specs().builder()))) == [
        "before",
        "  MatMul",
        "  ├─ x [*b, m, k]",
        "  └─ y [k, n]",
        "  MatMul",
        "  ├─ z [*b, p, k]",
        "  └─ y [k, n]",
        "after",
        "  part 0 of #1 Split (axis=-2, sizes=(m, p))",
        "  └─ MatMul",
        "     ├─ Concat (axis=-2)",
        "     │  ├─ x [*b, m, k]",
        "     │  └─ z [*b, p, k]",
        "     └─ y [k, n]",
        "  part 1 of #1 again",
    ]
