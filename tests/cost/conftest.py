import pytest

from taso_opt.cost import CostTable


@pytest.fixture
def table(tmp_path):
    with CostTable(tmp_path / "costs.sqlite") as opened:
        yield opened
