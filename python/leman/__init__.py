# SPDX-License-Identifier: Apache-2.0
"""Versioned multimodal tables in the open Lance format."""

import importlib
import typing

from leman._core import (
    CancelledError,
    ConflictError,
    CorruptError,
    ExistsError,
    FunctionError,
    InvalidError,
    LemanError,
    MemoryLimitError,
    NotFoundError,
    StoreError,
    UnavailableError,
    UnsupportedError,
    __version__,
)

if typing.TYPE_CHECKING:
    from leman import cluster, environment, functions
    from leman import grain as grain
    from leman import ray_data as ray_data
    from leman import torch as torch
    from leman.arrow import Batch, Scan
    from leman.blobs import blob
    from leman.crew import shutdown
    from leman.database import Database, connect
    from leman.decorator import Columns, Udf, c_udf, udf
    from leman.expr import Array, evaluate
    from leman.feed import Feed
    from leman.file import BlobFile, FileWriter, LanceFile, write_file
    from leman.ingest import LoadProgress, LoadResult, Problem, webdataset
    from leman.jobs import BackfillResult, Job
    from leman.merge import MergeBuilder, MergeResult
    from leman.policy import (
        Fail,
        Retry,
        Skip,
        fail_fast,
        retry_all,
        retry_transient,
        skip_on_error,
    )
    from leman.rate import RateLimit
    from leman.ray_options import ArrayRecordOptions, FileOptions, RayOptions, ReadOptions
    from leman.records import ArrayRecordFile, array_record, write_array_record
    from leman.sources import arrow_ipc, csv, files, jsonl, parquet
    from leman.space_dataset import space
    from leman.spent import usage
    from leman.table import Table, create, open
    from leman.versions import CleanupResult, CompactResult, VerifyResult

# What each module defines; it is imported when one of its names is used first, as workers and short
# scripts start faster without the others.
_MODULES = {
    "leman.arrow": "Batch Scan",
    "leman.blobs": "blob",
    "leman.crew": "shutdown",
    "leman.database": "Database connect",
    "leman.expr": "Array evaluate",
    "leman.feed": "Feed",
    "leman.file": "BlobFile FileWriter LanceFile write_file",
    "leman.ingest": "LoadProgress LoadResult Problem webdataset",
    "leman.jobs": "BackfillResult Job",
    "leman.merge": "MergeBuilder MergeResult",
    "leman.policy": "Fail Retry Skip fail_fast retry_all retry_transient skip_on_error",
    "leman.rate": "RateLimit",
    "leman.ray_options": "ArrayRecordOptions FileOptions RayOptions ReadOptions",
    "leman.records": "ArrayRecordFile array_record write_array_record",
    "leman.sources": "arrow_ipc csv files jsonl parquet",
    "leman.space_dataset": "space",
    "leman.spent": "usage",
    "leman.table": "Table create open",
    "leman.versions": "CleanupResult CompactResult VerifyResult",
    "leman.decorator": "Columns Udf c_udf udf",
}
_HOMES = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = [
    "Array",
    "BackfillResult",
    "ArrayRecordFile",
    "ArrayRecordOptions",
    "Batch",
    "BlobFile",
    "CancelledError",
    "CleanupResult",
    "Columns",
    "CompactResult",
    "ConflictError",
    "CorruptError",
    "Database",
    "ExistsError",
    "Fail",
    "Feed",
    "FileOptions",
    "FileWriter",
    "FunctionError",
    "InvalidError",
    "Job",
    "LanceFile",
    "LemanError",
    "LoadProgress",
    "LoadResult",
    "MemoryLimitError",
    "MergeBuilder",
    "MergeResult",
    "NotFoundError",
    "RateLimit",
    "RayOptions",
    "ReadOptions",
    "Retry",
    "Problem",
    "Scan",
    "Skip",
    "StoreError",
    "Table",
    "Udf",
    "UnavailableError",
    "UnsupportedError",
    "VerifyResult",
    "__version__",
    "c_udf",
    "cluster",
    "array_record",
    "arrow_ipc",
    "blob",
    "connect",
    "create",
    "environment",
    "csv",
    "evaluate",
    "fail_fast",
    "open",
    "retry_all",
    "retry_transient",
    "shutdown",
    "skip_on_error",
    "udf",
    "usage",
    "files",
    "functions",
    "jsonl",
    "parquet",
    "space",
    "webdataset",
    "write_array_record",
    "write_file",
]


# Modules that are used by their own name: leman.cluster.local(). Those for other libraries, which
# may not be there, are not in __all__.
_SUBMODULES = {"cluster", "environment", "functions", "grain", "ray_data", "torch"}


def __getattr__(name):
    if name in _SUBMODULES:
        return importlib.import_module(f"leman.{name}")
    home = _HOMES.get(name)
    if home is None:
        from leman.elsewhere import no_name

        raise no_name(name)
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
