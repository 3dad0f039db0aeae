# SPDX-License-Identifier: Apache-2.0
"""Who may include what, and that every layer says what it is."""

import re
from pathlib import PurePosixPath

from rules.tree import Finding, line_of

# A layer includes itself and those before it.
LAYERS = "base os store arrow codec format expr table job engine view feed ingest pack".split()
STANDARD = {
    f"{name}.h"
    for name in "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp "
    "signal stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string "
    "tgmath threads time uchar wchar wctype".split()
}
POSIX = re.compile(
    r"(fcntl|unistd|pthread|dirent|sched|signal|poll|dlfcn|spawn|semaphore|netdb)\.h$"
    r"|(sys|linux|netinet|arpa)/"
)
LIBRARIES = re.compile(r"(nanoarrow/|zstd|lz4|xxhash|zdict|cJSON|cjson/|curl/|roaring/|openssl/)")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def includes(tree, name):
    text = tree.uncommented(name)
    for match in INCLUDE.finditer(text):
        yield line_of(text, match.start()), match[1] == '"', match[2]


def check_layers(tree):
    """A layer includes only layers above it; the outside includes only public headers."""
    for name in tree.c_files():
        for line, quoted, target in includes(tree, name):
            complaint = judge(tree, name, quoted, target)
            if complaint:
                yield Finding(name, line, f"includes {target}: {complaint}")
    for name in tree.under("src"):
        parts = PurePosixPath(name).parts
        if name.endswith((".c", ".h")) and (len(parts) != 3 or parts[1] not in LAYERS):
            yield Finding(name, 1, f"is in no layer; the layers are {' '.join(LAYERS)}")


def judge(tree, name, quoted, target):
    top, second = PurePosixPath(name).parts[:2]
    if ".." in PurePosixPath(target).parts:
        return "a path with .. in it"
    if top == "src" and second in LAYERS:
        return judge_layer(tree, name, second, quoted, target)
    if top == "include":
        if quoted or not (target.startswith("leman/") or target in STANDARD):
            return "a public header includes only <leman/...> and standard headers"
    elif top == "cli" or name.startswith("python/ext/"):
        if quoted and str(PurePosixPath(name).parent / target) not in tree.files:
            return "only <leman/...>, system headers and headers beside it may be included here"
        if not quoted and LIBRARIES.match(target):
            return "the library behind <leman/...> is not for use here"
    return None


def judge_layer(tree, name, layer, quoted, target):
    if not quoted:
        if POSIX.match(target) and layer != "os":
            return "POSIX headers belong in src/os"
        if target.startswith("nanoarrow/") and LAYERS.index(layer) < LAYERS.index("arrow"):
            return f"{layer} stands above arrow and knows nothing of nanoarrow"
        return None
    folder = target.partition("/")[0]
    if "/" not in target or folder not in LAYERS:
        return "written as layer/noun.h"
    if LAYERS.index(folder) > LAYERS.index(layer):
        return f"{layer} stands above {folder}"
    return None


def check_readmes(tree):
    """Every layer has a README of its own."""
    layers = {PurePosixPath(name).parts[1] for name in tree.under("src") if name.count("/") > 1}
    for layer in sorted(layers):
        if f"src/{layer}/README.md" not in tree.files:
            yield Finding(
                f"src/{layer}/README.md", 1, "missing; says what the layer owns and must not know"
            )
