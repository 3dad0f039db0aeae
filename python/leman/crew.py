# SPDX-License-Identifier: Apache-2.0
"""The worker processes of this process."""

from leman import _core


def shutdown():
    """End the workers that wait for the next job; returns how many there were.

    They would end with this process. Workers of a job that runs go on.
    """
    return _core.job_end_workers()
