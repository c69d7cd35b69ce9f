"""Hashes of trees of operations are equal where the same operations are done in the same order, and only there."""

import numpy as np
import pytest

from taso_opt.semantics.free import FreeArrays
from taso_opt.spec.shared.piecewise import RELU

XP = FreeArrays()
X = XP.random(np.random.default_rng(0), (1, 3, 4))


def test_an_idempotent_function_leaves_its_own_images_alone_also_after_a_tensor_without_elements():
    xp = FreeArrays()
    assert xp.apply(RELU, X[:, :0]).size == 0
    once = xp.apply(RELU, X)
    assert not (once == X).any()
    assert (xp.apply(RELU, once) == once).all()


def test_a_sum_tells_the_order_of_its_elements_and_one_element_is_its_own_sum():
    assert (XP.sum(X[..., :1], [-1]) == X[..., 0]).all()
    assert (XP.sum(X, [-1]) == XP.sum(X.copy(), [-1])).all()
    assert not (XP.sum(X, [-1]) == XP.sum(X[..., ::-1], [-1])).any()
    assert not (XP.sum(X[..., :3], [-1]) == XP.sum(X, [-1])).any()
    in_pieces = XP.sum(np.stack([XP.sum(X[..., :2], [-1]), XP.sum(X[..., 2:], [-1])], axis=-1), [-1])
    assert not (in_pieces == XP.sum(X, [-1])).any()


def test_padding_stands_around_the_elements_and_is_no_element():
    padded = XP.pad(X, [(0, 0), (1, 2)])
    assert padded.shape == (1, 3, 7)
    assert (padded[..., 1:5] == X).all()
    assert len(np.unique(padded)) == len(np.unique(X)) + 1
    assert XP.pad(X, [(0, 0), (1, 0)], lowest=True)[0, 0, 0] != padded[0, 0, 0]
    with pytest.raises(ValueError, match="expected pads that are not negative"):
        XP.pad(X, [(0, 0), (-1, 0)])
