"""The script that measures the start explains itself, and judges what it measured."""

import pytest

import startup


def test_it_explains_itself(capsys):
    with pytest.raises(SystemExit) as ended:
        startup.main(["--help"])
    assert ended.value.code == 0
    assert "first line of progress" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("nothing", "helping", "first", "code"),
    [(0.02, 0.1, 0.5, 0), (0.02, 0.2, 0.5, 1), (0.02, 0.1, 1.5, 1), (0.2, 1.0, 3.0, 0), (0.2, 1.0, 5.0, 1)],
)
def test_a_busy_machine_is_told_from_a_slow_start(nothing, helping, first, code, monkeypatch, capsys):
    monkeypatch.setattr(startup, "seconds", lambda command: nothing if command == startup.EMPTY else helping)
    monkeypatch.setattr(startup, "until_the_first_line", lambda model: first)
    assert startup.main([]) == code
    assert f"help: {helping / nothing:.1f} times `python -c pass`" in capsys.readouterr().out
