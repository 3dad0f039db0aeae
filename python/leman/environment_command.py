# SPDX-License-Identifier: Apache-2.0
"""``leman env ...``: python -m leman.environment_command plan|list|gc ..."""

import argparse
import datetime
import json
import os
import sys

import leman
from leman import environment
from leman.environment import size_text
from leman.environment_path import find_workspace


def _parser():
    parser = argparse.ArgumentParser(prog="leman env", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True)
    plan = verbs.add_parser("plan", allow_abbrev=False)
    plan.add_argument("--workspace")
    plan.add_argument("--skip-site-packages", action="store_true")
    plan.add_argument("--bytes-max", default="500MB")
    plan.add_argument("--ship", metavar="DIR")
    listing = verbs.add_parser("list", allow_abbrev=False)
    listing.add_argument("store")
    gc = verbs.add_parser("gc", allow_abbrev=False)
    gc.add_argument("store")
    gc.add_argument("--days", type=float, default=30)
    gc.add_argument("--dry-run", action="store_true")
    for verb in (plan, listing, gc):
        verb.add_argument("--json", action="store_true")
    return parser


def _plan(arguments):
    # The path of a user's program: what `python -m` puts in front is this program's own.
    path = ["", *sys.path[1:]]
    made = environment.plan(
        workspace=arguments.workspace or find_workspace(os.path.realpath(os.getcwd())),
        skip_site_packages=arguments.skip_site_packages,
        bytes_max=arguments.bytes_max,
        path=path,
    )
    shipped = made.ship(arguments.ship) if arguments.ship and not made.is_over else None
    if arguments.json:
        said = made.to_dict()
        if shipped is not None:
            said |= {"hash": shipped.hash, "shipped": shipped.shipped}
        print(json.dumps(said))
    else:
        print(made)
        if shipped is not None:
            print(
                f"shipped {len(shipped.shipped)} of them, {size_text(shipped.shipped_bytes)}: "
                f"environment {shipped.hash}"
            )
    return 2 if made.is_over else 0


def _list(arguments):
    for item in environment.list_environments(arguments.store):
        if arguments.json:
            print(json.dumps(item))
            continue
        when = datetime.datetime.fromtimestamp(item["modified_ns"] / 1e9, datetime.UTC)
        missing = f", {item['missing']} of them missing" if item["missing"] else ""
        print(
            f"{item['hash']}  {when:%Y-%m-%d %H:%M}  Python {item['python']}  "
            f"{size_text(item['bytes'])} in {item['archives']} archives, "
            f"{size_text(item['stored_bytes'])} stored{missing}"
        )
    return 0


def _gc(arguments):
    if arguments.days < 0:
        raise leman.InvalidError(f"--days is at least 0, not {arguments.days}")
    gone = environment.gc(
        arguments.store, older_than_days=arguments.days, dry_run=arguments.dry_run
    )
    if arguments.json:
        print(json.dumps({"removed": gone, "dry_run": arguments.dry_run}))
        return 0
    for name in gone:
        print(name)
    print(f"{len(gone)} {'would be ' if arguments.dry_run else ''}removed")
    return 0


def main():
    arguments = _parser().parse_args()
    try:
        return {"plan": _plan, "list": _list, "gc": _gc}[arguments.verb](arguments)
    except (ValueError, leman.NotFoundError, leman.UnsupportedError) as error:
        print(f"leman: {error}", file=sys.stderr)
        return 2
    except leman.ConflictError as error:
        print(f"leman: {error}", file=sys.stderr)
        return 5
    except leman.LemanError as error:
        print(f"leman: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
