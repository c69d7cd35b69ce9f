"""A level is plain data: its evaluation is the same however it is cut, wherever it runs and on whatever device."""

import pickle
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.lib.mixins import NDArrayOperatorsMixin

from taso_opt.errors import UnsupportedError, UsageError
from taso_opt.generate.enumeration.candidates import claims
from taso_opt.generate.enumeration.enumerate import Effort, TooLarge, enumerate_terms
from taso_opt.generate.enumeration.families import POOLS
from taso_opt.generate.enumeration.fingerprint import fingerprints
from taso_opt.generate.enumeration.level import Range, evaluate, ranges
from taso_opt.generate.enumeration.moves import shards
from taso_opt.generate.enumeration.reduce import reduced
from taso_opt.semantics.arrays import ModularArrays
from taso_opt.semantics.devices import ArrayModule, array_module


def shard(library, pool, *operators):
    (chosen,) = (one for one in POOLS if one.name == pool)
    (found,) = shards(chosen, {name: library.operators[name] for name in operators})
    return found


@pytest.fixture
def joins(library):
    """Products with joins and splits of at most three operators."""
    return shard(library, "columns", "MatMul", "Concat", "Split", "Add")


def rows(batches):
    """Terms of a level by value, in order."""
    return [
        (batch.move, tuple(nodes), batch.item, tuple(key))
        for batch in batches
        for nodes, key in zip(batch.operands.tolist(), batch.keys.tolist(), strict=True)
    ]


def test_a_level_gives_the_same_terms_however_it_is_cut_into_ranges(library, joins):
    level = enumerate_terms(joins, library.operators, 3, seed=0).last
    whole = Counter(rows(evaluate(level, Range(0, len(level)))))
    for size in (300, 1000, len(level) + 5):
        pieces = ranges(len(level), size)
        assert [piece.start for piece in pieces[1:]] == [piece.stop for piece in pieces[:-1]]
        assert Counter(rows(batch for piece in pieces for batch in evaluate(level, piece))) == whole
    assert whole.total() > 1000


def test_the_parts_of_a_level_have_all_its_terms_once_and_equal_ones_together(library, joins):
    level = enumerate_terms(joins, library.operators, 3, seed=0).last
    whole = rows(evaluate(level, Range(0, len(level))))
    parts = [rows(evaluate(level, Range(0, len(level), part, 4))) for part in range(4)]
    assert Counter(one for part in parts for one in part) == Counter(whole)
    keys = [{key for *_, key in part} for part in parts]
    assert all(not keys[one] & keys[other] for one in range(4) for other in range(one))
    assert all(len(part) > 100 for part in parts)


def test_a_level_that_was_sent_to_another_process_gives_the_same_terms(library, joins):
    level = enumerate_terms(joins, library.operators, 3, seed=0).last
    sent = pickle.loads(pickle.dumps(level))  # noqa: S301
    assert rows(evaluate(sent, Range(100, 900))) == rows(evaluate(level, Range(100, 900)))
    assert sent.blocks[0].move is level.blocks[0].move


def test_claims_are_the_same_in_the_same_order_with_the_last_level_in_parts(library, joins):
    found = [
        list(claims(enumerate_terms(joins, library.operators, 3, 0, Effort(part_rows=rows)), 3))
        for rows in (1 << 30, 500)
    ]
    assert found[0] == found[1]
    assert any(claim.cut is not None for claim in found[0])


def test_the_count_of_the_last_level_does_not_depend_on_its_parts(library, joins):
    counts = []
    for part_rows in (1 << 30, 500):
        found = enumerate_terms(joins, library.operators, 3, 0, Effort(part_rows=part_rows))
        reduced(found, 3, 0)
        counts.append(found.levels)
    assert counts[0] == counts[1]
    assert counts[0][-1].terms > 1000


def test_a_level_with_more_tuples_than_allowed_is_not_begun(library, joins):
    with pytest.raises(TooLarge):
        enumerate_terms(joins, library.operators, 3, 0, Effort(most_rows=1000))
    assert enumerate_terms(joins, library.operators, 1, 0, Effort(most_rows=1000)).levels[0].size == 1


class OnDevice(NDArrayOperatorsMixin):
    """An array that, like those of a GPU, works with NumPy's functions but not beside arrays of main memory."""

    def __init__(self, array):
        self.array = array

    def __getattr__(self, name):
        found = getattr(self.array, name)
        return (lambda *args, **named: moved(found(*opened(args), **named))) if callable(found) else found

    def __getitem__(self, index):
        return moved(self.array[opened(index)])

    def __array_ufunc__(self, ufunc, method, *inputs, **named):
        return moved(getattr(ufunc, method)(*opened(inputs), **named))

    def __array_function__(self, function, types, args, named):
        return moved(function(*opened(args), **named))


def opened(value):
    """The arrays of the device in a value as such of main memory; where there are some of those, it is refused."""
    if isinstance(value, (tuple, list)):
        return type(value)(opened(part) for part in value)
    if isinstance(value, np.ndarray) and value.ndim:
        raise TypeError("an array of main memory meets one of a device")
    return value.array if isinstance(value, OnDevice) else value


def moved(value):
    return OnDevice(value.array if isinstance(value, OnDevice) else np.asarray(value))


def returned(value):
    assert isinstance(value, OnDevice), "expected an array of the device"
    return value.array


def test_fingerprints_of_a_device_are_those_of_main_memory(library):
    device = ArrayModule(moved, returned)
    values = [np.arange(24).reshape(4, 2, 3), np.arange(12).reshape(4, 3)]
    here = fingerprints(values, 2)
    there = fingerprints([moved(value) for value in values], 2, device)
    assert np.array_equal(device.asnumpy(there), here)


@pytest.mark.parametrize(("pool", "operators", "most"), [
    ("columns", ["MatMul", "Add", "Concat", "Split"], 2),
    ("joined columns", ["Relu", "Concat", "Split"], 3),
    ("pooled channels", ["AveragePool", "MaxPool", "Concat", "Split"], 2),
])  # fmt: skip
def test_a_device_evaluates_levels_to_the_same_terms(library, monkeypatch, pool, operators, most):
    (chosen,) = (one for one in POOLS if one.name == pool)
    first = shards(chosen, {name: library.operators[name] for name in operators})[0]
    level = enumerate_terms(first, library.operators, most, seed=0).last
    here = rows(evaluate(level, Range(0, len(level))))
    monkeypatch.setattr("taso_opt.generate.enumeration.level.array_module", lambda name: ArrayModule(moved, returned))
    there = rows(evaluate(replace(level, array="cupy"), Range(0, len(level))))
    assert there == here
    assert len(here) > 50


def test_residues_are_scaled_on_the_device_that_they_are_on():
    xp = ModularArrays(0, ArrayModule(moved, returned))
    scaled = xp.scale(moved(np.array([[2, 4]])), np.array([1, 3], dtype=object))
    assert returned(scaled).tolist() == [[2, 12]]


def test_an_array_module_that_nobody_knows_or_that_is_missing_is_refused():
    with pytest.raises(UsageError, match="expected numpy or cupy for --array, found 'torch'"):
        array_module("torch")
    try:
        import cupy  # noqa: F401
    except ImportError:
        with pytest.raises(UnsupportedError, match="expected CuPy for --array cupy, found none"):
            array_module("cupy")


def test_terms_whose_three_operands_share_operators_are_kept(library):
    found = enumerate_terms(shard(library, "identity kernels", "Conv", "Add"), library.operators, 5, seed=0)
    shared = [
        node for bank in found.table.of_size(4) for node in bank.nodes.tolist() if found.table.nodes[node].size < 4
    ]
    assert shared
    for bank in found.table.of_size(4):
        for node, operators in zip(bank.nodes.tolist(), bank.operators.tolist(), strict=True):
            assert set(operators) == found.table.nodes[node].operators
