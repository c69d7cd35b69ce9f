import pytest

from taso_opt.spec import load_specs
from taso_opt.verify.prove import Prover


@pytest.fixture(scope="session")
def library():
    return load_specs()


@pytest.fixture(scope="session")
def prover(library):
    return Prover(library)
