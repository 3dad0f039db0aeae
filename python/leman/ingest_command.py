# SPDX-License-Identifier: Apache-2.0
"""Commands of ``leman`` that need Python: ``python -m leman.ingest_command ingest|export ...``."""

import argparse
import json
import signal
import sys
from dataclasses import asdict

import leman
from leman import wording
from leman.export import COMPRESSIONS, export_parquet
from leman.ingest import Problem
from leman.space_dataset import space

DONE, FAILED, USAGE, PARTIAL, STOPPED, CONFLICT = 0, 1, 2, 3, 4, 5
_EXIT_CODES = [
    (leman.CancelledError, STOPPED),
    (leman.ConflictError, CONFLICT),
    (leman.InvalidError, USAGE),
    (leman.NotFoundError, USAGE),
    (leman.ExistsError, USAGE),
    (leman.UnsupportedError, USAGE),
    (leman.LemanError, FAILED),
]


def _ingest_arguments():
    parser = argparse.ArgumentParser(prog="leman ingest", allow_abbrev=False)
    parser.add_argument("kind", choices=["parquet", "arrow", "files", "space"])
    parser.add_argument("table")
    parser.add_argument("files")
    parser.add_argument("--columns", type=wording.names)
    parser.add_argument("--references", action="store_true")
    parser.add_argument("--on-error", choices=["fail", "skip", "null"], default="fail")
    parser.add_argument("--report")
    parser.add_argument("--max-parallelism", type=int)
    parser.add_argument("--commit-mb", type=float)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--primary-key", type=wording.names)
    parser.add_argument("--data-version")
    parser.add_argument("--rows-per-fragment", type=int)
    parser.add_argument("--bytes-per-fragment", type=int)
    parser.add_argument("--message")
    parser.add_argument("--version", help="of a Space dataset: a snapshot, a tag or a branch")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quiet", action="store_true")
    return parser


# Options that mean something for one kind only.
_OWN_OPTIONS = {"columns": "parquet", "references": "files", "version": "space"}


def _parse(argv):
    parser = _ingest_arguments()
    arguments = parser.parse_args(argv)
    for option, kind in _OWN_OPTIONS.items():
        if getattr(arguments, option) and kind != arguments.kind:
            parser.error(f"--{option} is not for {arguments.kind}")
    return arguments


def _source(arguments):
    if arguments.kind == "parquet":
        return leman.parquet(arguments.files, arguments.columns, on_error=arguments.on_error)
    if arguments.kind == "arrow":
        return leman.arrow_ipc(arguments.files, on_error=arguments.on_error)
    if arguments.kind == "files":
        return leman.files(
            arguments.files, references=arguments.references, on_error=arguments.on_error
        )
    version = arguments.version
    version = int(version) if version and version.isdigit() else version
    return space(arguments.files, version, on_error=arguments.on_error)


def _load(arguments, source, stopped):
    options = {
        "max_parallelism": arguments.max_parallelism,
        "again": arguments.again,
        "commit_mb": arguments.commit_mb,
        "message": arguments.message,
        "max_rows_per_fragment": arguments.rows_per_fragment,
        "max_bytes_per_fragment": arguments.bytes_per_fragment,
        "progress": lambda progress: not stopped and _show(arguments, progress),
    }
    new = {
        "primary_key": arguments.primary_key or getattr(source, "primary_key", None) or None,
        "data_storage_version": arguments.data_version,
    }
    try:
        table = leman.create(arguments.table, source, **options, **new)
        return table, table.loaded
    except leman.ExistsError:
        table = leman.open(arguments.table)
        return table, table.append(source, **options)


def _show(arguments, progress):
    if not arguments.quiet and sys.stderr.isatty():
        print(
            f"\r{progress.parts_before + progress.parts_done} of {progress.parts} parts, "
            f"{progress.rows} rows \033[K",
            end="",
            file=sys.stderr,
        )
    return True


def ingest(argv):
    arguments = _parse(argv)
    stopped = []

    def stop(number, _):
        stopped.append(True)
        signal.signal(number, signal.SIG_DFL)  # a second one ends the process

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    source = _source(arguments)
    table, result = _load(arguments, source, stopped)
    problems = result.problems
    if arguments.kind == "space":
        try:
            source.tag(table)
        except leman.InvalidError as error:
            problems.append(Problem(arguments.files, 0, "", "", str(error)))
    for problem in problems[:10]:
        place = [problem.part, problem.key, problem.field and f"field {problem.field}"]
        print("leman:", ": ".join([*filter(None, place), problem.message]), file=sys.stderr)
    if arguments.report:
        with open(arguments.report, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(problem)) + "\n" for problem in problems)
    if arguments.json:
        counts = {
            "version": table.version,
            "rows": result.rows_committed,
            "parts": result.parts_done,
            "parts_before": result.parts_before,
            "commits": result.commits,
            "problems": len(problems),
        }
        print(json.dumps(counts))
    else:
        before = f", {result.parts_before} parts were there" if result.parts_before else ""
        print(
            f"version {table.version}: {result.rows_committed} rows of {result.parts_done} parts "
            f"loaded in {result.commits} commits{before}"
            + (f", {len(problems)} problems" if problems else "")
        )
    return PARTIAL if problems else DONE


def export(argv):
    parser = argparse.ArgumentParser(prog="leman export", allow_abbrev=False)
    parser.add_argument("kind", choices=["parquet"])
    parser.add_argument("table")
    parser.add_argument("file")
    parser.add_argument("--columns", type=wording.names)
    parser.add_argument("--where")
    parser.add_argument("--version")
    parser.add_argument("--compression", default="snappy", choices=COMPRESSIONS)
    arguments = parser.parse_args(argv)
    version = arguments.version
    if version is not None:
        version = int(version) if version.isdigit() else version.removeprefix("tag:")
    table = leman.open(arguments.table, version)
    scan = table.scan(columns=arguments.columns, where=arguments.where, blobs="bytes")
    rows = export_parquet(scan, arguments.file, compression=arguments.compression)
    print(f"{rows} rows written")
    return DONE


def main(argv):
    try:
        return {"ingest": ingest, "export": export}[argv[0]](argv[1:])
    except leman.LemanError as error:
        print(f"leman: {error}", file=sys.stderr)
        return next(code for kind, code in _EXIT_CODES if isinstance(error, kind))
    except (OSError, ImportError, ValueError) as error:
        print(f"leman: {error}", file=sys.stderr)
        return FAILED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
