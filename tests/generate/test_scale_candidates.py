"""Scales of channels are found as kernels: of one channel a group, and beside a pointwise convolution of the same."""

from taso_opt.core.rule import RuleSet
from taso_opt.generate.schemes.slices import discover_slices
from taso_opt.spec.rule_file import read_rules
from taso_opt.spec.text import format_rule, parse_rule
from taso_opt.verify.definitions import prove_definition

PLAIN = "dilations=(1, 1), group={}, pads=(0, 0, 0, 0), strides=(1, 1)"
DEPTHWISE = f"Mul(x, Reshape(y; shape=(c, 1, 1))) = Conv(x, y; {PLAIN.format('c')}) where x[n, c, h, w], y[c, 1, 1, 1]"
MERGED = (
    f"Add(Conv(x, y; {PLAIN.format(1)}), Mul(x, t)) = Conv(x, Add(y, Mul(IdentityKernel(y), t)); {PLAIN.format(1)}) "
    "where x[n, c, h, w], y[c, c, 1, 1], t[c, 1, 1]"
)


def directions(rules, wanted):
    """In how many directions one of some rules that reads like a text can be applied."""
    (rule,) = (rule for rule in rules if format_rule(rule).startswith(wanted))
    return len(list(RuleSet((rule,)).directed()))


def test_a_scale_of_channels_is_a_kernel_of_one_channel_a_group_and_the_other_way_round(discovered, covers):
    found = discovered("scales as kernels", "Conv, Mul, Reshape", 2)
    assert covers(found, DEPTHWISE)
    assert directions(found, "Conv(x, y; dilations=(d_h, d_w), group=g, pads=(0, 0, 0, 0), strides=(1, 1)) = Mul(") == 2


def test_the_library_joins_a_scaled_image_and_a_pointwise_convolution_of_it(op, covers):
    rules = list(read_rules(None, op))
    assert covers(rules, MERGED)
    assert directions(rules, "Add(Mul(z, x), Conv(x, y; dilations=(d_h, d_w), group=1, ") == 2


def test_slices_pass_batch_normalization_along_each_axis(library, op):
    rules = discover_slices(library, 0, frozenset({"BatchNormalization", "Slice"}))
    found = [rule for rule in rules if "BatchNormalization" in format_rule(rule)]
    assert len(found) == 6  # rows and columns of a matrix; images, channels, rows and columns of a batch
    for rule in found:
        assert prove_definition(op, rule) is None, format_rule(rule)


def test_a_slice_of_channels_takes_their_statistics_along(op):
    wrong = (
        "Slice(BatchNormalization(x, s, b, m, v, e); axis=-3, sizes=(n, p, q)) = BatchNormalization("
        "Slice(x; axis=-3, sizes=(n, p, q)), {0}, {1}, {2}, {3}, e) "
        "where x[k, n+p+q, h, w], s[n+p+q], b[n+p+q], m[n+p+q], v[n+p+q], e[]"
    )
    cut = [f"Slice({name}; axis=-1, sizes=(n, p, q))" for name in "sbmv"]
    assert prove_definition(op, parse_rule(wrong.format(*cut), op)) is None
    others = [cut[1], cut[0], *cut[2:]]
    assert prove_definition(op, parse_rule(wrong.format(*others), op)) is not None
