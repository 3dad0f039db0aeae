# SPDX-License-Identifier: Apache-2.0
"""What happens when a function raises."""

import errno
import urllib.error

import leman
import pyarrow as pa
import pytest
from leman.policy import Policy, is_transient


@pytest.fixture
def table(tmp_path):
    return leman.create(tmp_path / "t.lance", {"x": list(range(8))})


class Flaky:
    """Raises for some rows, so many times each."""

    def __init__(self, error, times, bad=(3,)):
        self.error, self.times, self.bad = error, times, set(bad)
        self.calls = []

    def __call__(self, x):
        self.calls.append(x)
        if x in self.bad and self.calls.count(x) <= self.times:
            raise self.error
        return x * 10


def run(table, flaky, on_error):
    def fill(x: int) -> int:
        return flaky(x)

    return leman.udf(fill, on_error=on_error).test(table, rows=8)


@pytest.mark.parametrize(
    "error, transient",
    [
        (ConnectionResetError("x"), True),
        (TimeoutError("x"), True),
        (OSError("no number"), True),
        (OSError(errno.EAGAIN, "x"), True),
        (FileNotFoundError(errno.ENOENT, "x"), False),
        (PermissionError(errno.EACCES, "x"), False),
        (urllib.error.HTTPError("u", 503, "m", {}, None), True),
        (urllib.error.HTTPError("u", 404, "m", {}, None), False),
        (urllib.error.URLError(ConnectionRefusedError()), True),
        (ValueError("x"), False),
    ],
)
def test_policy__transient(error, transient):
    assert is_transient(error) is transient


def test_policy__transient_errors_are_retried(table):
    flaky = Flaky(ConnectionError("gone"), times=2)
    result = run(table, flaky, leman.retry_transient(backoff=0.001))
    assert result.outputs == [x * 10 for x in range(8)]
    assert flaky.calls.count(3) == 3
    assert len(flaky.calls) == 10


def test_policy__attempts_end(table):
    flaky = Flaky(ConnectionError("gone"), times=9)
    result = run(table, flaky, leman.retry_transient(max_attempts=4, backoff=0.001))
    assert result.outputs == [0, 10, 20, None, 40, 50, 60, 70]
    (record,) = result.errors
    assert record["type"] == "ConnectionError"
    assert record["attempts"] == 4
    assert record["repeat"] == "fill.test(table, row_ids=[3])"
    assert record["inputs"] == "x=3"


def test_policy__other_errors_are_not_retried(table):
    flaky = Flaky(ValueError("odd"), times=9)
    result = run(table, flaky, None)
    assert flaky.calls == list(range(8))
    assert result.errors[0]["attempts"] == 1


def test_policy__retry_all(table):
    flaky = Flaky(ValueError("odd"), times=1, bad=(0, 7))
    assert run(table, flaky, leman.retry_all(backoff=0)).errors == []
    assert len(flaky.calls) == 10


def test_policy__fail_fast(table):
    flaky = Flaky(ValueError("odd"), times=1)
    with pytest.raises(leman.FunctionError, match=r"row 3: ValueError: odd \(x=3\)"):
        run(table, flaky, leman.fail_fast())
    assert flaky.calls == [0, 1, 2, 3]


def test_policy__first_rule_that_matches(table):
    rules = [
        leman.Retry(ValueError, match="again", max_attempts=2, backoff=0),
        leman.Skip(ValueError),
        leman.Fail(),
    ]
    flaky = Flaky(ValueError("try again"), times=5)
    assert run(table, flaky, rules).errors[0]["attempts"] == 2
    assert flaky.calls.count(3) == 2
    flaky = Flaky(ValueError("no"), times=5)
    assert run(table, flaky, rules).errors[0]["attempts"] == 1
    with pytest.raises(leman.FunctionError, match="KeyError"):
        run(table, Flaky(KeyError("k"), times=5), rules)


def test_policy__sys_exit_and_stop_iteration_fail_their_row(table):
    for error in (SystemExit(3), StopIteration()):
        result = run(table, Flaky(error, times=1, bad=(0, 3)), None)
        assert [record["row"] for record in result.errors] == [0, 3]
        assert result.outputs == [None, 10, 20, None, 40, 50, 60, 70]


def test_policy__limits_for_the_job():
    assert Policy().limits() == {}
    assert Policy(leman.retry_all()).limits() == {}
    assert Policy(leman.skip_on_error()).limits() == {"failed_unlimited": True}
    assert Policy(leman.skip_on_error(max_skip_count=5)).limits() == {
        "failed_count_max": 5,
        "failed_fraction_max": 0.0,
        "failed_limited": True,
    }


def test_policy__backoff():
    pauses = [leman.Retry(max_attempts=9).pause(n) for n in range(1, 9)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    assert [leman.Retry(backoff="linear").pause(n) for n in (1, 2, 90)] == [1, 2, 60]
    assert [leman.Retry(backoff="fixed").pause(n) for n in (1, 2)] == [1, 1]
    policy = Policy(leman.Retry(backoff=8))
    assert all(4 <= policy.decide(ValueError(), 1)[1] <= 8 for _ in range(50))


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: leman.Retry(3), "types of exceptions"),
        (lambda: leman.Retry(max_attempts=0), "max_attempts"),
        (lambda: leman.Retry(backoff="quadratic"), "backoff"),
        (lambda: leman.Skip(max_skip_fraction=2), "between 0 and 1"),
        (lambda: leman.Skip(max_skip_count=-1), "not negative"),
        (lambda: leman.udf(on_error="skip"), "on_error is"),
        (lambda: leman.udf(on_error=[ValueError]), "neither"),
    ],
)
def test_policy__wrong_rules_are_refused(make, text):
    with pytest.raises((TypeError, ValueError), match=text):
        make()


def test_policy__a_wrong_pattern_is_refused():
    with pytest.raises(Exception, match="unterminated|missing"):
        leman.Retry(match="(")


# Batches


def batches(table, bad, error=None, on_error=None, result=None):
    calls = []

    def fill(x: pa.Array) -> pa.Array:
        values = x.to_pylist()
        calls.append(len(values))
        if set(values) & set(bad):
            if result is not None:
                return result(x)
            raise error or ValueError("bad")
        return pa.array([v * 10 for v in values])

    udf = leman.udf(fill, data_type=pa.int64(), on_error=on_error)
    return udf.test(table, rows=8), calls


def test_policy__batches_are_narrowed_to_the_row(table):
    result, calls = batches(table, [5])
    assert result.outputs == [0, 10, 20, 30, 40, None, 60, 70]
    assert [record["row"] for record in result.errors] == [5]
    assert calls == [8, 4, 4, 2, 1, 1, 2]


def test_policy__batches_that_fail_as_a_whole(table):
    result, calls = batches(table, range(8))
    assert len(result.errors) == 8
    assert result.outputs == [None] * 8
    assert len(calls) == 15


def test_policy__batches_are_retried_before_they_are_narrowed(table):
    result, calls = batches(
        table, [5], ConnectionError("gone"), leman.retry_transient(max_attempts=2, backoff=0)
    )
    assert calls[:2] == [8, 8]
    assert [record["row"] for record in result.errors] == [5]


def test_policy__batches_fail_fast(table):
    with pytest.raises(leman.FunctionError, match="row 5"):
        batches(table, [5], on_error=leman.fail_fast())


def test_policy__a_wrong_length_is_narrowed(table):
    result, _ = batches(table, [5], result=lambda x: x.slice(1))
    (record,) = result.errors
    assert record["row"] == 5
    assert "returned 0 values for 1 rows" in record["message"]


@pytest.mark.parametrize(
    "made, text",
    [
        (lambda x: "text", "returned str, not a pa.Array"),
        (lambda x: None, "returned NoneType, not a pa.Array"),
        (lambda x: pa.array(["a"] * len(x)), "returned string for column"),
        (lambda x: ["a"] * len(x), "not of the type int64"),
        (lambda x: pa.array([0.5] * len(x)), "returned double for column"),
    ],
)
def test_policy__a_wrong_type_is_named_and_not_narrowed(table, made, text):
    result, calls = batches(table, range(8), result=made)
    assert len(calls) == 1
    assert len(result.errors) == 8
    assert text in result.errors[0]["message"]


def test_policy__other_results_that_fit(table):
    for made in (
        lambda x: x.to_pylist(),
        lambda x: x.to_numpy(),
        lambda x: pa.chunked_array([x]),
        lambda x: x.cast(pa.int8()),
    ):
        result, _ = batches(table, range(8), result=made)
        assert result.outputs == list(range(8))
