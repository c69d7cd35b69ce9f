"""Terms become small drawings, and drawings get places that do not overlap."""

from taso_opt.core.term import Const, Item, Var
from taso_opt.report.drawing import MOST_NODES, MOST_OPERANDS, MOST_OUTPUTS, draw_change
from taso_opt.report.evidence import Drawing, DrawnNode
from taso_opt.report.layers import cut, place, shortened
from terms import tensor


def name(term):
    return getattr(term, "name", None)


def test_both_sides_are_drawn_down_to_what_they_share(op):
    x, y, z = (op.Relu(tensor(Var, each, 4, 4)) for each in "xyz")
    before, after = op.MatMul(op.MatMul(x, y), z), op.MatMul(x, op.MatMul(y, z))
    first, second = draw_change([before], [after], name, op.types)
    assert [node.label for node in first.nodes].count("MatMul") == 2
    assert [node.kind for node in first.nodes].count("value") == 3
    assert first.nodes[first.outputs[0]].operands == (2, 3)
    assert second.nodes[second.outputs[0]].detail == "[4, 4]"


def test_operators_over_weights_are_marked_as_folded(op):
    x = tensor(Var, "x", 4, 4)
    a, b = tensor(Const, "a", 4, 4), tensor(Const, "b", 4, 4)
    _, after = draw_change([op.MatMul(op.MatMul(x, a), b)], [op.MatMul(x, op.MatMul(a, b))], name, op.types)
    assert sorted(node.kind for node in after.nodes) == ["folded", "operator", "value", "weight", "weight"]


def test_a_weight_in_another_shape_keeps_its_name(op):
    x, scale = tensor(Var, "x", 2, 3, 4, 4), op.Reshape(tensor(Const, "scale", 1, 3, 1, 1), shape=(3, 1, 1))
    first, _ = draw_change([op.Relu(op.Mul(x, scale))], [op.Mul(op.Relu(x), scale)], name, op.types)
    assert [(node.label, node.detail) for node in first.nodes if node.kind == "weight"] == [("scale", "[3, 1, 1]")]


def test_operators_over_many_weights_and_over_parts_of_weights_are_folded(op):
    weights = [tensor(Const, f"w{at}", 4, 4) for at in range(MOST_OPERANDS + 1)]
    joined = op.Concat(*weights, axis=-2)
    part = Item(op.Split(weights[0], axis=-2, sizes=(1, 3)), 0)
    for weight in (joined, op.Transpose(part, perm=(-1, -2))):
        x = tensor(Var, "x", 4, op.type(weight).shape[0])
        _, after = draw_change([op.Relu(x)], [op.MatMul(x, weight)], name, op.types)
        assert [node.label for node in after.nodes if node.kind == "operator"] == ["MatMul"]


def test_many_outputs_and_operands_are_cut_and_counted(op):
    rows = [tensor(Var, f"x{at}", 1, 4) for at in range(9)]
    w = tensor(Const, "w", 4, 4)
    whole = op.Split(op.MatMul(op.Concat(*rows, axis=-2), w), axis=-2, sizes=(1,) * 9)
    before = [op.MatMul(row, w) for row in rows]
    first, second = draw_change(before, [op.item(whole, at) for at in range(9)], name, op.types)
    assert len(first.outputs) == len(second.outputs) == MOST_OUTPUTS
    assert f"and {9 - MOST_OUTPUTS} more" in [node.label for node in first.nodes]
    assert f"and {9 - MOST_OPERANDS} more" in [node.label for node in second.nodes]
    assert "9 times [1, 4]; axis=-2, sizes=(1, 1, 1, 1, 1, 1, 1, 1, 1)" in [node.detail for node in second.nodes]


def test_a_deep_graph_is_cut_off(op):
    x = deep = tensor(Var, "x", 4, 4)
    for _ in range(500):
        deep = op.Relu(op.Tanh(deep))
    first, _ = draw_change([deep], [x], name, op.types)
    assert len(first.nodes) <= MOST_NODES


def test_boxes_of_a_layer_do_not_overlap_and_edges_point_down():
    leaves = tuple(DrawnNode("value", f"a rather long name {at}", "[1]") for at in range(4))
    nodes = (*leaves, DrawnNode("operator", "Add", "", (0, 3)), DrawnNode("operator", "Mul", "", (1, 2)))
    placed = place(Drawing((*nodes, DrawnNode("operator", "Sub", "", (4, 5))), (6,)))
    for at, box in enumerate(placed.boxes):
        assert box.x >= 0 and box.x + box.width <= placed.width and box.y + box.height <= placed.height
        for other in placed.boxes[at + 1 :]:
            apart = box.x + box.width <= other.x or other.x + other.width <= box.x
            assert apart or box.y + box.height <= other.y or other.y + other.height <= box.y
    assert all(edge.y1 < edge.y2 for edge in placed.edges)
    assert [box.is_output for box in placed.boxes] == [False] * 6 + [True]


def test_crossings_are_avoided_where_an_order_without_them_exists():
    nodes = (
        *(DrawnNode("value", letter, "") for letter in "abcd"),
        DrawnNode("operator", "Add", "", (0, 2)),
        DrawnNode("operator", "Mul", "", (1, 3)),
    )
    placed = place(Drawing(nodes, (4, 5)))
    left = [box.middle for box in placed.boxes]
    assert (max(left[0], left[2]) < min(left[1], left[3])) == (left[4] < left[5])


def test_long_names_keep_both_ends():
    assert shortened("encoder/layer.0/attention/query/MatMul_12", 20) == "encoder/l…/MatMul_12"
    assert cut("0123456789", 5) == "0123…"
    assert shortened("short") == cut("short", 9) == "short"
