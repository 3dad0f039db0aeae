# SPDX-License-Identifier: Apache-2.0
"""Versioned multimodal tables in the open Lance format."""

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
from leman.arrow import Batch, Scan
from leman.database import Database, connect
from leman.expr import Array, evaluate
from leman.file import BlobFile, FileWriter, LanceFile, write_file
from leman.merge import MergeBuilder, MergeResult
from leman.table import CleanupResult, CompactResult, Table, VerifyResult, create, open

__all__ = [
    "Array",
    "Batch",
    "BlobFile",
    "CancelledError",
    "CleanupResult",
    "CompactResult",
    "ConflictError",
    "CorruptError",
    "Database",
    "ExistsError",
    "FileWriter",
    "FunctionError",
    "InvalidError",
    "LanceFile",
    "LemanError",
    "MemoryLimitError",
    "MergeBuilder",
    "MergeResult",
    "NotFoundError",
    "Scan",
    "StoreError",
    "Table",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "VerifyResult",
    "connect",
    "create",
    "evaluate",
    "open",
    "write_file",
]
