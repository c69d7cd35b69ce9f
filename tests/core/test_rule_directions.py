from taso_opt.core.rule import RuleSet, open_sizes
from taso_opt.spec import load_specs
from taso_opt.spec.text import format_rule, parse_rule

WINDOW = "dilations=(d_h, d_w), group=c, pads=(0, 0, 0, 0), strides=(1, 1)"
OPEN = f"Mul(x, Reshape(y; shape=(c, 1, 1))) = Conv(x, y; {WINDOW}) where x[n, c, h, w], y[c, 1, 1, 1]"


def directions(text):
    return [format_rule(rule) for rule in RuleSet((parse_rule(text, load_specs().builder()),)).directed()]


def test_an_equation_is_used_both_ways_when_each_side_mentions_everything():
    assert len(directions("Relu(Transpose(x; perm=(-1, -2))) = Transpose(Relu(x); perm=(-1, -2)) where x[m, n]")) == 2


def test_a_side_that_mentions_a_variable_or_a_size_alone_is_never_a_target():
    (variable,) = directions("Add(Sub(x, y), y) = x where x[*a], y[*a]")
    assert variable.startswith("Add(")
    (size,) = directions("Reshape(Reshape(x; shape=(*s,)); shape=(*r,)) = Reshape(x; shape=(*r,)) where x[*a]")
    assert size.startswith("Reshape(Reshape(")


def test_dilations_that_do_not_matter_may_be_open():
    forward, backward = RuleSet((parse_rule(OPEN, load_specs().builder()),)).directed()
    assert (open_sizes(forward), open_sizes(backward)) == ({"d_h", "d_w"}, frozenset())
