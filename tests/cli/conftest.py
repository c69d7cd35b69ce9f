import pytest

from taso_opt.cli import main


@pytest.fixture
def run(capsys):
    """Run the command line; gives the exit code, stdout and stderr."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call
