"""Random operators get seeds for a comparison, and only those that have none."""

from onnx import parser

from taso_opt.onnx_io import seeded

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def seeds(proto):
    return [
        attribute.f or attribute.i
        for node in proto.graph.node
        for attribute in node.attribute
        if attribute.name == "seed"
    ]


def test_a_model_without_random_numbers_needs_no_seed():
    assert seeded(parser.parse_model(HEAD + "g (float[2] x) => (float[2] y) { y = Relu(x) }")) is None


def test_every_random_operator_gets_a_seed_of_its_own_and_a_given_one_stays():
    model = parser.parse_model(
        HEAD
        + """g (float[2] x, float r, bool t) => (float[2] y) {
        a = RandomNormalLike(x)  b = RandomUniformLike <seed = 41.0> (a)  c = Bernoulli(b)  y = Dropout(c, r, t) }"""
    )
    before = model.SerializeToString()
    assert seeds(seeded(model)) == [1.0, 41.0, 2.0, 3]
    assert model.SerializeToString() == before


def test_dropout_without_a_training_flag_draws_nothing():
    assert seeded(parser.parse_model(HEAD + "g (float[2] x) => (float[2] y) { y = Dropout(x) }")) is None


def test_bodies_are_seeded_too():
    model = parser.parse_model(
        HEAD
        + """g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] p) { p = RandomNormalLike(x) },
                    else_branch = e () => (float[2] q) { q = Relu(x) }> }"""
    )
    (then,) = [attribute.g for attribute in seeded(model).graph.node[0].attribute if attribute.name == "then_branch"]
    assert [attribute.f for attribute in then.node[0].attribute] == [1.0]
