"""What depends on constants alone, however deep, and what may give anything although it is given constants."""

from taso_opt.core.rule import RuleSet
from taso_opt.core.term import Apply, Const, Var, is_constant, postorder
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import OPAQUE
from taso_opt.spec.text import parse_rule
from terms import tensor

X, C = tensor(Var, "x", 4, 4), tensor(Const, "c", 4, 4)


def test_constants_make_constants_at_any_depth(op):
    deep = C
    for _ in range(3000):
        deep = op.Add(op.Relu(deep), C)
    assert is_constant(deep)
    assert not is_constant(op.Add(deep, X))
    split = op.Split(deep, axis=-1, sizes=(2, 2))
    assert is_constant(op.item(split, 1))


def test_a_node_that_no_specification_covers_is_none_and_what_stands_on_it_is_rewritten(op):
    drawn = Apply(OPAQUE, (C,), (("node", 0), ("types", (C.type, C.type))))
    assert not is_constant(drawn) and not is_constant(op.item(drawn, 0)) and not is_constant(op.Relu(op.item(drawn, 1)))
    rule = parse_rule("Relu(Relu(x)) = Relu(x) where x[*a]", op)
    (step,) = Rewriter(op, RuleSet((rule,))).steps(postorder([op.Relu(op.Relu(op.item(drawn, 0)))]))
    assert step.image is op.Relu(op.item(drawn, 0))
