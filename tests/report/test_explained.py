"""The explanation of a node as text: what a model calls its nodes and values is shown, never obeyed."""

from taso_opt.report.explained import Considered, Explanation, explanation_lines

NASTY = "n\x1b[31mred\x1b]0;title\x07\N{RIGHT-TO-LEFT OVERRIDE}"


def test_names_of_a_model_are_spelled_out():
    fits = Considered("1a2b", "Relu(x) = x where x[*a]", "E1", "gains", NASTY, -0.5, (NASTY, "other"), 2)
    found = Explanation("model.onnx", NASTY, "Relu", (NASTY,), (fits,), NASTY)
    lines = list(explanation_lines(found, with_all=True))
    assert all(line.isprintable() for line in lines)
    assert sum(r"n\x1b[31mred" in line for line in lines) == 4
