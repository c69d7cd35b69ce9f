"""The library's rules make one convolution of two that are added, where the pads say where the smaller kernel lies."""

import pytest

from taso_opt.core.term import Const, Var
from taso_opt.rewrite.steps import Rewriter
from taso_opt.spec import load_specs
from taso_opt.spec.rule_file import read_rules
from terms import tensor

OP = load_specs().builder()
X = tensor(Var, "x", 1, 8, 11, 11)
A, B = tensor(Const, "a", 6), tensor(Const, "b", 6)


@pytest.fixture(scope="module")
def rewriter():
    return Rewriter(OP, read_rules(None, OP))


def kernel(name, *sizes, group=1):
    return tensor(Const, name, 6, 8 // group, *sizes)


def conv(f, pads, *bias, strides=(1, 1), group=1):
    return OP.Conv(X, f, *bias, pads=pads, strides=strides, dilations=(1, 1), group=group)


def images(rewriter, term):
    return {step.image for step in rewriter.rewrites(term)}


@pytest.mark.parametrize(
    ("small", "pads", "large", "wide", "zeros"),
    [
        ((1, 1), (0, 0, 0, 0), (5, 5), (2, 2, 2, 2), (2, 2, 2, 2)),
        ((1, 3), (0, 1, 0, 1), (3, 3), (1, 1, 1, 1), (1, 0, 1, 0)),
        ((3, 1), (1, 0, 1, 0), (3, 3), (1, 1, 1, 1), (0, 1, 0, 1)),
        ((3, 3), (1, 1, 1, 1), (7, 7), (3, 3, 3, 3), (2, 2, 2, 2)),
        ((2, 2), (1, 0, 0, 1), (3, 4), (1, 1, 1, 2), (0, 1, 1, 1)),
        ((1, 1), (2, 2, 2, 2), (3, 1), (4, 2, 2, 2), (2, 0, 0, 0)),
    ],
)
@pytest.mark.parametrize(("strides", "group"), [((1, 1), 1), ((2, 1), 2)])
def test_the_smaller_kernel_gets_zeros_where_the_other_convolution_pads_more(
    rewriter, small, pads, large, wide, zeros, strides, group
):
    f, g = kernel("f", *small, group=group), kernel("g", *large, group=group)
    here = {"strides": strides, "group": group}
    summed = [OP.Add(OP.Enlarge(f, pads=zeros), g), OP.Add(g, OP.Enlarge(f, pads=zeros))]
    for term, bias in (
        (OP.Add(conv(f, pads, **here), conv(g, wide, **here)), ()),
        (OP.Add(conv(g, wide, A, **here), conv(f, pads, **here)), (A,)),
        (OP.Add(conv(f, pads, B, **here), conv(g, wide, **here)), (B,)),
        (OP.Add(conv(f, pads, A, **here), conv(g, wide, B, **here)), (OP.Add(A, B),)),
    ):
        found = images(rewriter, term)
        assert any(conv(one, wide, *bias, **here) in found for one in summed)


@pytest.mark.parametrize(("pads", "wide"), [((0, 2, 0, 0), (1, 1, 1, 3)), ((0, 0, 2, 0), (3, 1, 1, 1))])
def test_kernels_that_do_not_lie_over_each_other_stay_apart(rewriter, pads, wide):
    """On one side the smaller kernel sees what the larger one does not."""
    whole = OP.Add(conv(kernel("f", 1, 1), pads), conv(kernel("g", 3, 3), wide))
    assert not [image for image in images(rewriter, whole) if "Enlarge" in repr(image)]
