# SPDX-License-Identifier: Apache-2.0
"""What a job is told of functions that wait for others: how many rows a call has, and limits."""

import math

from leman import blobs

_BATCHES = 4  # rows of a batch for each call that an async function has in flight


def cost(name, value):
    """A limit of money; 0: none."""
    if value is None:
        return 0.0
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < math.inf:
        raise ValueError(f"{name} is a number above 0, not {value!r}")
    return float(value)


def of_function(udf, batch_size):
    """Members of the job's function; batch_size: rows of a call, None when nobody has said."""
    options, told = udf.options, {}
    if options.rate_limit is not None:
        told |= options.rate_limit.limits()
    if options.paid:
        told["paid"] = True
    if udf.language != "c" and blobs.takes_files(udf):
        told["lazy_blobs"] = True
    if options.parallel_setup:
        told["parallel_setup"] = True
    if options.setup_timeout is not None:
        told["setup_timeout_ms"] = math.ceil(options.setup_timeout * 1000)
    if udf.language == "c" or udf.signature.kind != "scalar":
        return told
    if udf.is_async and batch_size is None:
        told["batch_rows"] = _BATCHES * options.async_concurrency
    elif options.paid and not udf.is_async:
        told["batch_rows"] = 1  # results are durable one by one
    return told
