import pytest

from taso_opt.verify.prove import Prover


@pytest.fixture(scope="session")
def prover(library):
    return Prover(library)
