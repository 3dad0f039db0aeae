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
from leman.file import Batch, BlobFile, FileWriter, LanceFile, Scan, write_file

__all__ = [
    "Batch",
    "BlobFile",
    "CancelledError",
    "ConflictError",
    "CorruptError",
    "ExistsError",
    "FileWriter",
    "FunctionError",
    "InvalidError",
    "LanceFile",
    "LemanError",
    "MemoryLimitError",
    "NotFoundError",
    "Scan",
    "StoreError",
    "UnavailableError",
    "UnsupportedError",
    "__version__",
    "write_file",
]
