# SPDX-License-Identifier: Apache-2.0
"""The command under test, and profiles of hypothesis with as many examples as processes allow."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

COMMAND = Path(__file__).resolve().parents[2] / "build/leman"

settings.register_profile(
    "ci",
    max_examples=25,
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
settings.register_profile("soak", settings.get_profile("ci"), max_examples=2000, derandomize=False)
settings.load_profile("ci")


@pytest.fixture(scope="session")
def leman():
    """Run the command; what it printed, as bytes, and its exit code."""

    def run(*arguments, stdin=None, env=None):
        done = subprocess.run(
            [COMMAND, *map(str, arguments)], input=stdin, capture_output=True, env=env, timeout=120
        )
        return done

    return run
