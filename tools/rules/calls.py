# SPDX-License-Identifier: Apache-2.0
"""Functions that may be called in one place only, or nowhere."""

import re

from rules.tree import Finding, line_of

HEAP = "malloc calloc realloc free strdup strndup aligned_alloc posix_memalign".split()
SYSTEM = "time clock_gettime gettimeofday open openat fopen fork vfork system popen getenv".split()
PROCESS = "exit _exit _Exit abort printf fprintf vprintf vfprintf puts fputs putchar perror".split()
NOWHERE = "strcpy strcat sprintf vsprintf gets alloca strtok".split()

# (functions, folders concerned, the folder that may, why)
RULES = [
    (HEAP, ("src/", "python/ext/"), "src/base/", "use the heap calls of src/base"),
    (SYSTEM, ("src/",), "src/os/", "calls to the operating system belong in src/os"),
    (PROCESS, ("src/",), "src/os/", "the library never prints, exits or aborts; return a status"),
    (NOWHERE, ("",), None, "writes without a bound, or keeps hidden state"),
]


def pattern(names):
    """A call of one of them, not a member of that name."""
    return re.compile(rf"(?<![\w.])(?<!->)({'|'.join(names)})[ \t]*\(")


def check_calls(tree):
    """Banned calls."""
    for names, concerned, allowed, why in RULES:
        calls = pattern(names)
        for name in tree.c_files():
            if not name.startswith(concerned) or (allowed and name.startswith(allowed)):
                continue
            code = tree.code(name)
            for match in calls.finditer(code):
                yield Finding(name, line_of(code, match.start()), f"{match[1]}(): {why}")
