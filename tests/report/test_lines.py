"""Long lines are broken where a reader expects it."""

import io

from rich.console import Console
from rich.table import Table

from taso_opt.report.lines import equation, equation_lines, hanging, wrapped


def test_a_line_that_fits_stays_as_it_is():
    assert list(wrapped(["  short  line", ""], 13)) == ["  short  line", ""]


def test_the_rest_of_a_broken_line_is_set_in_below_its_first_word():
    assert list(wrapped(["  one two three four"], 13)) == ["  one two", "      three", "      four"]


def test_a_word_without_a_place_to_break_is_cut():
    assert list(wrapped(["x" * 25], 10)) == ["x" * 10, "    " + "x" * 6, "    " + "x" * 6, "    xxx"]


def test_the_second_side_of_a_long_equation_has_a_line_of_its_own():
    text = "Add(Add(x, y), z) = Add(x, Add(y, z))"
    assert equation_lines(text, 37) == [text]
    assert equation_lines(text, 36) == ["Add(Add(x, y), z)", "  = Add(x, Add(y, z))"]


def test_a_table_gives_an_equation_one_line_where_it_can():
    def drawn(width):
        out = io.StringIO()
        table = Table(box=None, pad_edge=False, show_header=False)
        table.add_row(equation("Add(Add(x, y), z) = Add(x, Add(y, z))"), "3")
        Console(file=out, width=width).print(table)
        return [line.rstrip() for line in out.getvalue().splitlines()]

    assert drawn(60) == ["Add(Add(x, y), z) = Add(x, Add(y, z))  3"]
    assert [line.split("  3")[0].rstrip() for line in drawn(35)] == ["Add(Add(x, y), z)", "  = Add(x, Add(y, z))"]


def test_a_table_sets_in_the_rest_of_a_long_line():
    out = io.StringIO()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row(hanging("1: first, second, third and 5 more"), "3")
    Console(file=out, width=33).print(table)
    assert [line.rstrip() for line in out.getvalue().splitlines()] == [
        "1: first, second, third and 5   3",
        "    more",
    ]


def test_a_table_shows_the_first_lines_of_a_very_long_equation():
    out = io.StringIO()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row(equation(f"Add({', '.join(f'operand_{at}' for at in range(90))}) = x"), "3")
    Console(file=out, width=40).print(table)
    lines = [line.rstrip() for line in out.getvalue().splitlines()]
    assert len(lines) == 12
    assert lines[0] == "Add(operand_0, operand_1, operand_2,   3"
    assert lines[-1] == "  ... (tasoopt rules show ID)"
