# SPDX-License-Identifier: Apache-2.0
"""Profiles of hypothesis: "ci" finds the same in every run; `make soak` runs "soak", for long."""

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
settings.register_profile("soak", settings.get_profile("ci"), max_examples=3000, derandomize=False)
settings.load_profile("ci")
