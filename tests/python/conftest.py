# SPDX-License-Identifier: Apache-2.0
"""Profiles of hypothesis: "ci" finds the same in every run; `make soak` runs "soak", for long.

SOAK=0.1 in the environment makes a soak a tenth as long. LEMAN_ENGINE=ray runs jobs on a cluster,
which processes that tests start find as well.
"""

import os

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    max_examples=100,
    derandomize=True,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "soak",
    settings.get_profile("ci"),
    max_examples=max(1, int(3000 * float(os.environ.get("SOAK") or 1))),
    derandomize=False,
)
settings.load_profile("ci")


@pytest.fixture(scope="session", autouse=True)
def cluster():
    if os.environ.get("LEMAN_ENGINE") != "ray":
        yield
        return
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_worker_niceness", "0")
    import ray

    # Room for two workers, whatever the machine has: more would only take longer to start.
    ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False)
    os.environ["RAY_ADDRESS"] = ray.get_runtime_context().gcs_address
    yield
    ray.shutdown()
