"""A short and repeatable piece of the long run of scripts/fuzz_reader.py, and proof that it would notice a defect."""

from random import Random

import pytest
from onnx import ModelProto

from fuzz_reader import Target, fuzz, targets
from fuzzing.mutate import mutated_model, mutated_rules
from fuzzing.seeds import models, rules

INPUTS = 1500


def test_damaged_models_and_rules_are_read_or_refused_in_one_line(tmp_path):
    both = targets()
    assert fuzz(600, 1, tmp_path, both, most=INPUTS) == INPUTS
    for target in both:
        assert target.answers["read"] > 20
        assert len(target.answers) > 10


def test_what_it_starts_from_is_read(tmp_path):
    for target, seeds in zip(targets(), (models(), rules()), strict=True):
        (tmp_path / "data.bin").write_bytes(bytes(256))
        for content in seeds:
            (tmp_path / target.name).write_bytes(content)
            assert target.answer(tmp_path / target.name) == "read"


def test_an_exception_that_is_no_error_of_ours_ends_it(tmp_path):
    def read(path):
        return ModelProto.FromString(path.read_bytes()).graph.node[100]

    broken = Target("model", list(models()), mutated_model, read)
    with pytest.raises(Exception, match=r"index|parsing"):
        fuzz(60, 0, tmp_path, (broken, broken), most=50)


@pytest.mark.parametrize(("mutate", "seeds"), [(mutated_model, models), (mutated_rules, rules)])
def test_mutations_differ_and_repeat_with_the_seed(mutate, seeds):
    pool = list(seeds())
    made = [[mutate(random, pool[0], pool) for _ in range(50)] for random in (Random(3), Random(3))]
    assert made[0] == made[1]
    assert len(set(made[0])) > 30
