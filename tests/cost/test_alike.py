"""Parts of graphs that have one number run as kernels of the same keys, and parts that repeat themselves have one."""

from collections import defaultdict
from itertools import combinations, pairwise
from random import Random

import pytest

from taso_opt.core.literal import literal
from taso_opt.core.term import Apply, Const, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.cost.kernels.alike import PartNumbers
from taso_opt.cost.kernels.layout import NOTHING, Around
from taso_opt.cost.kernels.units import UnitFinder
from taso_opt.onnx_io import BLOCKED, PLAIN

WIDTH, LAYERS, PARTS = 8, 4, 400
IMAGE = TensorType("float32", (1, 16, 6, 6))


@pytest.fixture
def numbered(op):
    """Numbers parts by one memory."""
    numbers = PartNumbers(UnitFinder(op))
    return lambda *outputs, boundary=(), around=NOTHING: numbers.number(outputs, frozenset(boundary), around)


def rows(name):
    return Var(name, TensorType("float32", (4, WIDTH)))


def weight(name, *shape):
    return Const(name, TensorType("float32", shape))


def normalized(op, x):
    """A layer normalization in pieces, around which the runtime may fuse."""
    distance = op.Sub(x, op.ReduceMean(x, axes=(-1,)))
    variance = op.ReduceMean(op.Mul(distance, distance), axes=(-1,))
    return op.Div(distance, op.Sqrt(op.Add(variance, literal("1/1000", "float32"))))


def network(op):
    """Layers that look alike, with names of their own."""
    x = rows("x")
    for layer in range(LAYERS):
        inner = op.MatMul(op.Relu(op.MatMul(x, weight(f"a{layer}", WIDTH, 16))), weight(f"b{layer}", 16, WIDTH))
        x = normalized(op, op.Add(x, op.Mul(inner, weight(f"c{layer}", WIDTH))))
    return x


def test_parts_of_one_number_have_kernels_of_the_same_keys(op):
    terms, random, finder = postorder([network(op)]), Random(0), UnitFinder(op)
    numbers, found = PartNumbers(finder), defaultdict(set)
    for _ in range(PARTS):
        outputs = tuple(random.sample([term for term in terms if isinstance(term, Apply)], random.choice((1, 1, 2))))
        boundary = frozenset(random.sample(terms, len(terms) * 2 // 3)) - {*outputs}
        keys = tuple(sorted(unit.key for unit in finder.units(outputs, boundary)))
        found[numbers.number(outputs, boundary, NOTHING)].add(keys)
    assert all(len(keys) == 1 for keys in found.values())
    assert LAYERS < len(found) < PARTS // 2


def test_what_is_alike_in_each_layer_has_one_number(op, numbered):
    terms = postorder([network(op)])
    sums = [term for term in terms if isinstance(term, Apply) and term.operator == "Div"]
    parts = {numbered(after, boundary=(before,)) for before, after in pairwise(sums)}
    assert len(sums) == LAYERS and len(parts) == 1
    assert numbered(sums[0]) not in parts  # the input of the graph is inside


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lambda op, x: op.Relu(x), lambda op, x: op.Tanh(x)),
        (lambda op, x: op.MatMul(x, weight("w", WIDTH, 4)), lambda op, x: op.MatMul(x, weight("w", WIDTH, 5))),
        (lambda op, x: op.Softmax(x, axis=-1), lambda op, x: op.Softmax(x, axis=-2)),
        (lambda op, x: op.Add(x, rows("y")), lambda op, x: op.Add(x, weight("w", 4, WIDTH))),
        (lambda op, x: op.Add(x, x), lambda op, x: op.Add(x, rows("y"))),
        (lambda op, x: op.Mul(x, literal(2, "float32")), lambda op, x: op.Mul(x, literal(3, "float32"))),
    ],
)
def test_what_costs_may_depend_on_tells_parts_apart(op, numbered, one, other):
    x, boundary = rows("x"), (rows("x"), rows("y"))
    assert numbered(one(op, x), boundary=boundary) != numbered(other(op, x), boundary=boundary)


def test_the_names_of_operands_do_not_decide_their_order(op, numbered):
    """The operands of a sum stand in the order of their digests."""
    sums = [op.Add(op.Relu(rows(f"x{at}")), op.Tanh(rows(f"y{at}"))) for at in range(12)]
    assert {term.args[0].operator for term in sums} == {"Relu", "Tanh"}
    assert len({numbered(term) for term in sums}) == 1


def test_shared_operands_are_told_from_equal_ones(op, numbered):
    x, y = op.Relu(rows("x")), op.Relu(rows("y"))
    parts = [op.Sub(op.Tanh(x), op.Sigmoid(y)), op.Sub(op.Tanh(x), op.Sigmoid(x))]
    assert numbered(parts[0], boundary=(x, y)) != numbered(parts[1], boundary=(x, y))


def test_layouts_around_a_part_tell_it_apart(op, numbered):
    image = Var("image", IMAGE)
    result = op.Relu(image)
    surroundings = [
        NOTHING,
        Around(blocked=frozenset((image,))),
        Around(there=frozenset(((image, BLOCKED),))),
        Around(wanted=frozenset(((result, PLAIN),))),
        Around(wanted=frozenset(((result, BLOCKED),))),
    ]
    numbers = [numbered(result, boundary=(image,), around=around) for around in surroundings]
    assert all(one != other for one, other in combinations(numbers, 2))


def test_depths_matter_where_the_runtime_may_fuse_a_region(op, numbered):
    """Light operators on both sides of a product are no region, unless the other operand lies as deep."""
    x, shallow = rows("x"), rows("y")
    deep = op.MatMul(op.MatMul(x, weight("v", WIDTH, WIDTH)), weight("w", WIDTH, WIDTH))
    parts = [op.Sub(normalized(op, shallow), op.Relu(other)) for other in (deep, rows("z"))]
    assert numbered(parts[0], boundary=(deep,)) != numbered(parts[1], boundary=(rows("z"),))
