import pytest

from taso_opt.verify.derivation.prove import Prover


@pytest.fixture(scope="session")
def prover(library):
    return Prover(library)
