from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from taso_opt.spec.text import parse_rule
from taso_opt.verify.derivation.prove import Derivation
from taso_opt.verify.library import prune as pruning
from taso_opt.verify.library.prune import prune, underived
from taso_opt.verify.processes.child import Stopped
from taso_opt.verify.processes.crew import Crew
from taso_opt.verify.processes.worker import Derive, Desk, Learn

ASSOCIATIVE = "Add(x, Add(y, z)) = Add(Add(x, y), z) where x[*a], y[*a], z[*a]"
FOUR = "Add(Add(x, y), Add(z, w)) = Add(Add(x, z), Add(y, w)) where x[*a], y[*a], z[*a], w[*a]"
IDEMPOTENT = "Relu(Relu(x)) = Relu(x) where x[*a]"
THREE = "Relu(Relu(Relu(x))) = Relu(x) where x[*a]"
SPECIAL = "Relu(Relu(x)) = Relu(x) where x[m, k]"


def parts(whole):
    return f"(Split({whole}; axis=-1, sizes=(n, p))[0], Split({whole}; axis=-1, sizes=(n, p))[1])"


UNDONE = f"{parts('Concat(x, y; axis=-1)')} = (x, y)"
X, Y = (f"Split(x; axis=-1, sizes=(n, p))[{at}]" for at in (0, 1))
CUT_RELU = f"{parts('Relu(x)')} = (Relu({X}), Relu({Y})) where x[m, n+p]"
MERGED_RELU = f"(Relu(x), Relu(y)) = {parts('Relu(Concat(x, y; axis=-1))')} where x[m, n], y[m, p]"
MERGED = f"(MatMul(x, y), MatMul(x, z)) = {parts('MatMul(x, Concat(y, z; axis=-1))')} where x[m, k], y[k, n], z[k, p]"
CONTINUED = (
    f"(Relu(MatMul(x, y)), Relu(MatMul(x, z))) = {parts('Relu(MatMul(x, Concat(y, z; axis=-1)))')}"
    " where x[m, k], y[k, n], z[k, p]"
)
INSTANCE = f"(Relu(Tanh(x)), Relu(Tanh(y))) = {parts('Relu(Concat(Tanh(x), Tanh(y); axis=-1))')} where x[m, n], y[m, p]"


def kept(library, *texts):
    builder = library.builder()
    rules = [parse_rule(text, builder) for text in texts]
    with Crew(2) as crew:
        left = prune(crew, rules)
    return [text for text, rule in zip(texts, rules, strict=True) if rule in left]


def test_consequences_instances_and_repetitions_of_smaller_rules_are_dropped(library):
    assert kept(library, FOUR, ASSOCIATIVE, THREE, SPECIAL, IDEMPOTENT) == [ASSOCIATIVE, IDEMPOTENT]


RELU = "Max(0, x) = Relu(x) where x[*any_x]"
TWICE = "Relu(Max(0, x)) = Relu(x) where x[*any_x]"
LONG = "Relu(Max(0, x)) = Max(0, Relu(x)) where x[*any_x]"
LAW = "Relu(Mul(x, s)) = Mul(Relu(x), s) where s[*any_s], x[*any_x] and s >= 0"
BEHIND = "Max(0, Mul(x, s)) = Mul(Relu(x), s) where s[*any_s], x[*any_x] and s >= 0"


def test_what_one_operator_is_in_other_words_stays_and_so_does_what_holds_under_conditions(library):
    idempotent = "Relu(Relu(x)) = Relu(x) where x[*any_x]"
    texts = (RELU, idempotent, LAW, TWICE, BEHIND)
    assert kept(library, *texts, LONG) == list(texts)
    assert kept(library, IDEMPOTENT, THREE) == [IDEMPOTENT]


BOUNDED = ("Max(Mul(x, s), x) = PRelu(x, s)", "Min(Mul(x, s), x) = PRelu(x, s)")
FALSE = "Max(Mul(x, s), x) = Min(Mul(x, s), x) where s[*any_s], x[*any_x]"


def test_nothing_follows_from_what_holds_under_conditions_alone(library):
    builder, where = library.builder(), "where s[*any_s], x[*any_x]"
    bounded = [f"{text} {where} and s {bound}" for text, bound in zip(BOUNDED, ("<= 1", ">= 1"), strict=True)]
    unconditional = LAW.removesuffix(" and s >= 0")
    given = [parse_rule(text, builder) for text in (*bounded, LAW)]
    asked = [parse_rule(text, builder) for text in (FALSE, unconditional)]
    with Crew(1) as crew:
        assert underived(crew, asked, given) == asked
        assert set(prune(crew, asked, given=given)) == set(asked)
    with pytest.raises(AssertionError, match="a condition would be forgotten"):
        Derivation(library).add(given[0])


def test_a_map_lets_a_transposition_pass_by_a_rule_of_its_own(library):
    sizes = "where x[*b, m, k]"
    of_max = f"Max(Transpose(x; perm=(-1, -2)), y) = Transpose(Max(x, y); perm=(-1, -2)) {sizes}, y[]"
    of_relu = f"Relu(Transpose(x; perm=(-1, -2))) = Transpose(Relu(x); perm=(-1, -2)) {sizes}"
    of_two = f"Relu(Relu(Transpose(x; perm=(-1, -2)))) = Transpose(Relu(Relu(x)); perm=(-1, -2)) {sizes}"
    assert kept(library, of_max, RELU, of_relu, of_two) == [of_max, RELU, of_relu]
    builder = library.builder()
    with Crew(1) as crew:
        rules = [parse_rule(text, builder) for text in (of_relu, of_two)]
        assert underived(crew, rules, [parse_rule(text, builder) for text in (of_max, RELU)]) == rules[:1]


def test_merges_stay_although_the_laws_of_split_derive_them_but_their_consequences_go(library):
    undone = f"{UNDONE} where x[m, n], y[m, p]"
    texts = (undone, CUT_RELU, MERGED_RELU, MERGED, CONTINUED, INSTANCE)
    assert kept(library, *texts) == [undone, CUT_RELU, MERGED_RELU, MERGED]


def open_ones(library, given, *texts):
    builder = library.builder()
    rules = [parse_rule(text, builder) for text in texts]
    with Crew(2) as crew:
        left = underived(crew, rules, [parse_rule(text, builder) for text in given])
    return [text for text, rule in zip(texts, rules, strict=True) if rule in left]


FALSE = "Relu(Add(x, y)) = Add(Relu(x), Relu(y)) where x[*a], y[*a]"
FALSE_MERGE = f"(Relu(x), Relu(y)) = {parts('Tanh(Concat(x, y; axis=-1))')} where x[m, n], y[m, p]"


def test_what_given_rules_leave_open_is_told_for_equations_that_nobody_has_proved(library):
    given = (ASSOCIATIVE, IDEMPOTENT, CUT_RELU, MERGED, f"{UNDONE} where x[m, n], y[m, p]")
    texts = (FOUR, FALSE, THREE, SPECIAL, CONTINUED, FALSE_MERGE, MERGED_RELU)
    assert open_ones(library, given, *texts) == [FALSE, FALSE_MERGE, MERGED_RELU]
    assert open_ones(library, (), *texts) == list(texts)


def test_given_rules_are_used_and_not_repeated(library):
    builder = library.builder()
    rules, given = ([parse_rule(text, builder) for text in texts] for texts in ([FOUR, THREE, MERGED], [ASSOCIATIVE]))
    with Crew(1) as crew:
        assert prune(crew, rules, given=given) == [rules[1], rules[2]]


ONE = "dilations=(1, 1), group=1, pads=(0, 0, 0, 0), strides=(1, 1)"
TYPES = "x[n, c, h, w], f[m, c, 3, 3], g[p, c, 3, 3]"
BOTH_KERNELS = f"Conv(x, Concat(f, g; axis=-4); {ONE})"


def channels(whole):
    return f"(Split({whole}; axis=-3, sizes=(m, p))[0], Split({whole}; axis=-3, sizes=(m, p))[1])"


def bias_apart(size):
    sizes = f"x[n, c, h, w], f[{size}, c, 3, 3], a[{size}]"
    return f"Conv(x, f, a; {ONE}) = Add(Conv(x, f; {ONE}), Reshape(a; shape=({size}, 1, 1))) where {sizes}"


KERNELS = f"(Conv(x, f; {ONE}), Conv(x, g; {ONE})) = {channels(BOTH_KERNELS)} where {TYPES}"
STACKED = f"Concat(Conv(x, f; {ONE}), Conv(x, g; {ONE}); axis=-3) = {BOTH_KERNELS} where {TYPES}"
SUMS = (
    f"(Add(x, a), Add(y, b)) = {channels('Add(Concat(x, y; axis=-3), Concat(a, b; axis=-3))')}"
    " where x[n, m, h, w], y[n, p, h, w], a[m, 1, 1], b[p, 1, 1]"
)
RESHAPED = (
    "Concat(Reshape(a; shape=(m, 1, 1)), Reshape(b; shape=(p, 1, 1)); axis=-3)"
    " = Reshape(Concat(a, b; axis=-1); shape=(m+p, 1, 1)) where a[m], b[p]"
)
BIASED = (
    f"(Conv(x, f, a; {ONE}), Conv(x, g, b; {ONE}))"
    f" = {channels(f'Conv(x, Concat(f, g; axis=-4), Concat(a, b; axis=-1); {ONE})')} where {TYPES}, a[m], b[p]"
)


def test_merges_of_biased_convolutions_stay_although_biases_can_be_added_apart(library):
    given = (KERNELS, STACKED, SUMS, RESHAPED, bias_apart("m"), bias_apart("m+p"))
    assert open_ones(library, given, BIASED) == [BIASED]
    assert open_ones(library, (*given, BIASED), BIASED) == []


ADDED = "x[n, c, h, w], f[m, c, 3, 3], a[m], y[n, d, h, w], g[m, d, 3, 3], b[m]"
ONE_BIAS = (
    f"Add(Conv(x, f, a; {ONE}), Conv(y, g; {ONE})) = Conv(Concat(x, y; axis=-3), Concat(f, g; axis=-3), a; {ONE})"
    f" where {ADDED.removesuffix(', b[m]')}"
)
TAKEN_OFF = f"Add(Conv(x, f, a; {ONE}), Conv(y, g, b; {ONE})) = Add(Conv(x, f, Add(a, b); {ONE}), Conv(y, g; {ONE}))"
BOTH_BIASES = (
    f"Add(Conv(x, f, a; {ONE}), Conv(y, g, b; {ONE}))"
    f" = Conv(Concat(x, y; axis=-3), Concat(f, g; axis=-3), Add(a, b); {ONE}) where {ADDED}"
)


def test_a_sum_of_biased_convolutions_stays_although_a_bias_can_be_taken_off(library):
    given = (ONE_BIAS, f"{TAKEN_OFF} where {ADDED}")
    builder = library.builder()
    known, rule = [parse_rule(text, builder) for text in given], parse_rule(BOTH_BIASES, builder)
    with Crew(1) as crew:
        assert prune(crew, [rule], given=known) == [rule]
        assert prune(crew, [rule], given=[*known, rule]) == []
    assert open_ones(library, given, BOTH_BIASES) == [BOTH_BIASES]
    assert open_ones(library, (*given, BOTH_BIASES), BOTH_BIASES) == []


def test_a_sum_that_follows_from_others_of_as_many_operands_goes(library):
    product = "Add(MatMul(x, z), MatMul(y, z)) = MatMul(Add(x, y), z) where x[m, k], y[m, k], z[k, n]"
    narrow = product.replace("z[k, n]", "z[k, 1]")
    assert kept(library, narrow, product) == [product]


class OneStop:
    """A child that stops at the first equation and follows none after that; it notes what it is asked."""

    def __init__(self):
        self.asked = []

    def ask(self, question):
        self.asked.append(type(question))
        if self.asked.count(Derive) == 1 and isinstance(question, Derive):
            raise Stopped("too long")
        return False


@pytest.mark.parametrize(
    "ask", [lambda crew, rules: prune(crew, rules), lambda crew, rules: underived(crew, rules, [])]
)
def test_a_process_that_replaces_one_that_was_stopped_learns_everything_again(library, ask):
    child = OneStop()
    crew = SimpleNamespace(child=lambda: nullcontext(child), threads=SimpleNamespace(map=map))
    rules = [parse_rule(text, library.builder()) for text in (IDEMPOTENT, "Relu(Tanh(x)) = Tanh(Relu(x)) where x[*a]")]
    assert ask(crew, rules) == rules
    first, stopped, *rest = child.asked
    assert (first, stopped, *rest[:2]) == (Learn, Derive, Learn, Derive)


def test_laws_are_learnt_some_at_a_time_and_forget_the_others_once(library, monkeypatch):
    asked = []
    monkeypatch.setattr(pruning, "LEARNT_AT_ONCE", 2)
    child = SimpleNamespace(ask=lambda question: asked.append((len(question.rules), question.afresh)))
    law = parse_rule(IDEMPOTENT, library.builder())
    pruning._teach(child, [law] * 5, afresh=True)
    pruning._teach(child, [law], afresh=False)
    pruning._teach(child, [], afresh=True)
    assert asked == [(2, True), (2, False), (1, False), (1, False), (0, True)]


def test_laws_are_taken_in_before_a_question_waits_for_it(library, monkeypatch):
    settled = []
    monkeypatch.setattr(Derivation, "settle", lambda self: settled.append(True))
    law, other = (parse_rule(text, library.builder()) for text in (IDEMPOTENT, ASSOCIATIVE))
    desk = Desk()
    desk.answer(Learn((law, other), afresh=True))
    assert settled == [True]
    desk.answer(Learn((law,), afresh=False))  # one more is no work, and thousands are added one by one
    assert settled == [True]


def test_what_was_taken_in_still_gives_what_follows_and_nothing_else(library):
    derivation = Derivation(library)
    derivation.add(parse_rule(IDEMPOTENT, library.builder()))
    derivation.settle()
    assert derivation.derives(parse_rule(THREE, library.builder()))
    assert not derivation.derives(parse_rule(ASSOCIATIVE, library.builder()))


ONES = "Expand(x; shape=(m, n)) = MatMul(Expand(1; shape=(m, 1)), x) where x[1, n]"
CHAIN = "MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[m, k], y[k, n], z[n, p]"
ONCE = "MatMul(Expand(x; shape=(m, k)), y) = Expand(MatMul(x, y); shape=(m, n)) where x[1, k], y[k, n]"
TWICE_REPEATED = "MatMul(MatMul(Expand(x; shape=(m, k)), y), z) = MatMul(Expand(x; shape=(m, k)), MatMul(y, z)) "
TWICE_REPEATED += "where x[1, k], y[k, n], z[n, p]"


def test_what_takes_repetitions_past_an_operator_is_kept_though_it_follows_from_others(library):
    """A product with ones says it too, by terms that no sequence goes through."""
    assert kept(library, ONES, CHAIN, ONCE, TWICE_REPEATED) == [ONES, CHAIN, ONCE]
