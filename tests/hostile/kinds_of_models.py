"""Models that break the standard, and models that it allows and no machine can run."""

from __future__ import annotations

from pathlib import Path

import onnx
from kinds import BUDGET, HEAD, RELU, kind, relu, with_tensor
from onnx import TensorProto, helper, parser


@kind(3, "expected an ONNX model, found a file without a graph: {folder}/model.onnx")
def no_graph(folder: Path) -> onnx.ModelProto:
    return onnx.ModelProto(ir_version=8)


@kind(3, "expected a graph without cycles, found one through node 'Add'")
def a_cycle(folder: Path) -> str:
    return HEAD + "g (float[2] x) => (float[2] y) { a = Add(x, b)  b = Relu(a)  y = Relu(b) }"


@kind(3, "expected a valid ONNX model, found in {folder}/model.onnx: …input 'z' of node…")
def a_value_that_nothing_defines(folder: Path) -> str:
    return RELU.replace("Relu(x)", "Relu(z)")


@kind(
    3,
    "expected a valid ONNX model, found in {folder}/model.onnx: …'y' has been used as output names multiple times.",
)
def a_value_defined_twice(folder: Path) -> str:
    return RELU.replace("y = Relu(x)", "y = Relu(x)  y = Tanh(x)")


@kind(
    3,
    "expected a valid ONNX model, found in {folder}/model.onnx: Graph output 'y' is not …",
)
def an_output_that_nothing_computes(folder: Path) -> str:
    return RELU.replace("y = Relu(x)", "z = Relu(x)")


@kind(0, "")
def an_output_named_twice(folder: Path) -> onnx.ModelProto:
    model = parser.parse_model(RELU)
    model.graph.output.append(model.graph.output[0])
    return model


@kind(
    3,
    "expected a valid ONNX model, found in {folder}/model.onnx: …'x' has been used as graph input names…",
)
def an_input_named_twice(folder: Path) -> onnx.ModelProto:
    model = parser.parse_model(RELU)
    model.graph.input.append(model.graph.input[0])
    return model


@kind(3, "expected a valid ONNX model, found in {folder}/model.onnx: w initializer name is not unique")
def an_initializer_named_twice(folder: Path) -> onnx.ModelProto:
    return with_tensor(TensorProto(name="w", data_type=1, dims=[2], raw_data=bytes(8)), count=2)


@kind(
    3,
    "expected a valid ONNX model, found in {folder}/model.onnx: No Op registered for NoSuchOperator…",
)
def an_operator_that_onnx_does_not_have(folder: Path) -> str:
    return RELU.replace("Relu(x)", "NoSuchOperator(x)")


@kind(0, "")
def an_operator_of_a_domain_that_nobody_knows(folder: Path) -> str:
    return RELU.replace('"" : 17', '"" : 17, "com.strange" : 1').replace("Relu(x)", "com.strange.Op(x)")


@kind(3, "expected a valid ONNX model, found in {folder}/model.onnx: …Relu… has input size 2 not in range …")
def too_many_inputs_for_an_operator(folder: Path) -> str:
    return RELU.replace("Relu(x)", "Relu(x, x)")


@kind(
    3,
    "expected a valid ONNX model, found in {folder}/model.onnx: Your model ir_version 999 is higher…",
)
def a_format_of_the_far_future(folder: Path) -> str:
    return RELU.replace("ir_version: 8", "ir_version: 999")


@kind(4, "expected an ai.onnx opset of at most …, which onnxruntime … loads, found … in {folder}/model.onnx")
def an_opset_of_the_future(folder: Path) -> str:
    return RELU.replace('"" : 17', f'"" : {onnx.defs.onnx_opset_version() + 1}').replace(
        "ir_version: 8", "ir_version: 10"
    )


@kind(
    3,
    "expected a valid ONNX model, found in {folder}/model.onnx: …must specify opset_import…",
)
def no_opset(folder: Path) -> onnx.ModelProto:
    model = parser.parse_model(RELU)
    del model.opset_import[:]
    return model


@kind(3, "expected text in UTF-8, found other bytes in a field 'name' of {folder}/model.onnx")
def a_name_that_is_not_text(folder: Path) -> bytes:
    return (
        parser.parse_model(RELU.replace("Relu(x)", "Relu(x)").replace(" y", " yyyy"))
        .SerializeToString()
        .replace(b"yyyy", b"\xff\xfe\xfd\xfc")
    )


@kind(3, "expected a graph without cycles, found one through node '\\x1b[2J<script>alert(1)</script>\\u202e'")
def names_that_a_terminal_or_a_browser_would_obey(folder: Path) -> onnx.ModelProto:
    nodes = [
        helper.make_node("Relu", ["b"], ["a"], name="\x1b[2J<script>alert(1)</script>\u202e"),
        relu("a", "b"),
        relu("b", "y"),
    ]
    kept = parser.parse_model(RELU)
    del kept.graph.node[:]
    kept.graph.node.extend(nodes)
    return kept


@kind(3, "expected an ONNX model, found a file of another kind or a cut-off one: {folder}/model.onnx")
def bodies_nested_too_deep(folder: Path) -> bytes:
    return _nested(60)


@kind(0, "")
def bodies_nested_as_deep_as_protobuf_allows(folder: Path) -> bytes:
    return _nested(30)


@kind(3, "expected an equation of letters and ellipses for Einsum, found 'n.d'")
def an_equation_that_is_read_without_an_end(folder: Path) -> str:
    return HEAD + 'g (float[2, 3] x) => (float[2] y) { y = Einsum <equation = "n.d->n"> (x) }'


@kind(3, "expected an equation of letters and ellipses for Einsum, found '..n..d'")
def an_equation_that_is_read_without_an_end_in_a_function(folder: Path) -> str:
    inner = "h <how> (a) => (b) { b = Einsum <equation: string = @how> (a) }"
    outer = 'f (a) => (b) { b = local.h <how = "..n..d->n"> (a) }'
    return _functions(outer, inner)


@kind(3, "expected functions that do not call themselves, found 'f'")
def functions_that_call_themselves(folder: Path) -> str:
    return _functions("f (a) => (b) { b = local.f(a) }")


@kind(3, "expected functions that do not call themselves, found 'f'")
def functions_that_call_each_other_in_a_circle(folder: Path) -> str:
    return _functions("f (a) => (b) { b = local.h(a) }", "h (a) => (b) { b = local.f(a) }")


@kind(3, "expected functions that do not call themselves, found 'f'")
def a_function_that_calls_itself_in_the_default_of_an_attribute(folder: Path) -> onnx.ModelProto:
    inner = "p () => (r) { r = local.f(a) }"
    text = _functions(
        f"f (a) => (b) {{ c = Cast <to = 9> (a)  b = If <then_branch = {inner}, else_branch = {inner}> (c) }}"
    )
    model = parser.parse_model(text)
    (function,) = model.functions
    branch = function.node[1].attribute[0]
    function.attribute_proto.append(helper.make_attribute("branch", branch.g))
    for attribute in function.node[1].attribute:
        attribute.ClearField("g")
        attribute.ref_attr_name = "branch"
    return model


@kind(0, "")
def a_step_beyond_all_axes_that_a_function_is_given(folder: Path) -> str:
    numbers = (
        f"int64[1] big = {{{2**62}}}, int64[1] steps = {{1}}, int64[1] start = {{0}}, int64[1] end = {{{2**63 - 1}}}"
    )
    text = _functions("f (x, s, e, a, steps) => (r) { r = Slice(x, s, e, a, steps) }")
    nodes = "shape = Shape(x)  first = local.f(shape, start, end, start, big)  y = ConstantOfShape(first)"
    return text.replace("float[2] y)", f"float[n] y) <{numbers}>").replace("y = local.f(x)", nodes)


@kind(3, "expected functions of different names, found two of the same")
def two_functions_of_one_name(folder: Path) -> str:
    return _functions("f (a) => (b) { b = Relu(a) }", "f (a) => (b) { b = Tanh(a) }")


@kind(3, "expected functions that expand to at most 1000000 nodes, found more")
def functions_that_explode_when_expanded(folder: Path) -> str:
    steps = [f"f{at} (a) => (b) {{ c = local.f{at + 1}(a)  b = local.f{at + 1}(c) }}" for at in range(1, 40)]
    return _functions("f (a) => (b) { b = local.f1(a) }", *steps, "f40 (a) => (b) { b = Relu(a) }")


@kind(0, "")
def a_shape_whose_elements_cannot_be_counted(folder: Path) -> str:
    return RELU.replace("float[2]", f"float[{2**62}, {2**62}]")


@kind(0, "")
def convolutions_of_an_empty_batch(folder: Path) -> onnx.ModelProto:
    text = "g (float[0, 8, 8, 8] x) => (float[0, 8, 8, 8] y) { a = Conv(x, w)  b = Relu(a)  y = Conv(b, w) }"
    model = parser.parse_model(HEAD + text)
    model.graph.initializer.append(helper.make_tensor("w", TensorProto.FLOAT, [8, 8, 1, 1], [0.1] * 64))
    return model


@kind(0, "")
def an_input_larger_than_any_memory(folder: Path) -> list[object]:
    text = HEAD + "g (float[N, 64] x) => (float[64, N] y) { a = Relu(x)  b = Relu(a)  y = Transpose<perm = [1, 0]>(b) }"
    (folder / "model.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    return ["optimize", folder / "model.onnx", *BUDGET, "--dim", f"N={2**31 - 1}"]


@kind(0, "")
def a_loop_that_never_ends(folder: Path) -> str:
    body = "g (int64 i, bool ci, float[2] s) => (bool co, float[2] t) { co = Identity(ci)  t = Relu(s) }"
    loop = f"Loop(n, c, x) <body = {body}>"
    return HEAD + f"g (float[2] x) => (float[2] y) <int64 n = {{{2**62}}}, bool c = {{1}}> {{ y = {loop} }}"


def _nested(depth: int) -> bytes:
    """An If in an If in an If, put together field by field: the libraries refuse to make it."""
    end = helper.make_graph([relu("x", "y0")], "g0", [], [helper.make_tensor_value_info("y0", 1, [2])])
    body = end.SerializeToString()
    for level in range(1, depth):
        node = helper.make_node("If", ["c"], [f"y{level}"], else_branch=end).SerializeToString()
        node += _field(5, onnx.AttributeProto(name="then_branch", type=5).SerializeToString() + _field(6, body))
        result = helper.make_tensor_value_info(f"y{level}", 1, [2]).SerializeToString()
        body = _field(1, node) + _field(2, b"g") + _field(12, result)
    inputs = (helper.make_tensor_value_info("x", 1, [2]), helper.make_tensor_value_info("c", 9, []))
    body += b"".join(_field(11, value.SerializeToString()) for value in inputs)
    head = onnx.ModelProto(ir_version=8, opset_import=[helper.make_opsetid("", 17)])
    return head.SerializeToString() + _field(7, body)


def _field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message."""
    length, size = len(content), b""
    while length > 127:
        size, length = size + bytes([length % 128 + 128]), length // 128
    return bytes([8 * number + 2]) + size + bytes([length]) + content


def _functions(*texts: str) -> str:
    head = RELU.replace('"" : 17', '"" : 17, "local" : 1').replace("Relu(x)", "local.f(x)")
    return head + "".join(f'\n<domain: "local", opset_import: ["" : 17, "local" : 1]> {text}' for text in texts)
