import pytest

from taso_opt.cli import main


@pytest.fixture(scope="module")
def shared_costs(tmp_path_factory):
    """A cost table for all tests of a module: what the kernels of a model cost is measured once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TASOOPT_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def run(capsys):
    """Run the command line; gives the exit code, stdout and stderr."""

    def call(*arguments):
        code = main([str(argument) for argument in arguments])
        output = capsys.readouterr()
        return code, output.out, output.err

    return call
