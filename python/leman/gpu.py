# SPDX-License-Identifier: Apache-2.0
"""Memory of GPUs: known by the names of exceptions, so that no library is imported for it."""

import sys

_TEXTS = ("CUDA out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")


def is_out_of_memory(error):
    """Has a GPU run out of memory, so that fewer rows may do?"""
    kind = type(error)
    if kind.__name__ == "OutOfMemoryError" and kind.__module__.partition(".")[0] in (
        "torch",
        "cupy",
    ):
        return True
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _TEXTS)


def give_back_memory(error):
    """Let go of what a failed call still holds: in its frames, and in the library's cache."""
    error.__traceback__ = error.__context__ = error.__cause__ = None
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
