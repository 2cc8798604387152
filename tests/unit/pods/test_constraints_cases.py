"""What the injection brings about and Kubernetes would refuse is foreseen: the table of cases."""

import copy

import pytest

from injector.errors import InjectionError
from injector.pods.constraints import check_constraints
from tests.unit.pods.constraint_cases import CASES


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, golden):
    before, after = case.before(), case.after()
    kept = copy.deepcopy(after)
    if case.reason is None:
        check_constraints(after, before, case.namespace())
    else:
        with pytest.raises(InjectionError) as caught:
            check_constraints(after, before, case.namespace())
        assert caught.value.reason is case.reason
        golden(str(caught.value))
    assert after == kept


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_is_not_injected_is_not_judged(case):
    after = case.after()
    check_constraints(after, after, case.namespace())
    check_constraints(copy.deepcopy(after), after, case.namespace())
    check_constraints(case.before(), case.before(), case.namespace())


def test_names_are_unique():
    assert len({case.name for case in CASES}) == len(CASES)
