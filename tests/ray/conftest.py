# SPDX-License-Identifier: Apache-2.0
"""Real Ray clusters on this machine: one node for most tests, several where nodes matter."""

import os
import sys
from pathlib import Path

os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_DEDUP_LOGS", "0")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_worker_niceness", "0")
# A dead node is noticed in a second instead of in fifteen.
os.environ.setdefault("RAY_health_check_period_ms", "300")
os.environ.setdefault("RAY_health_check_failure_threshold", "3")
os.environ.setdefault("RAY_health_check_initial_delay_ms", "0")
os.environ.setdefault("RAY_health_check_timeout_ms", "1000")

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def one_node():
    """A cluster of one node, with more processors than there are, and two GPUs that are none."""
    import ray

    ray.init(
        address="local",
        num_cpus=8,
        num_gpus=2,
        resources={"accelerator": 1},
        labels={"zone": "a"},
        include_dashboard=False,
        logging_level="warning",
        log_to_driver=False,
    )
    yield ray
    ray.shutdown()


@pytest.fixture(autouse=True)
def state_home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
