# SPDX-License-Identifier: Apache-2.0
"""``leman cluster ...``: python -m leman.cluster_command render|list|delete ..."""

import argparse
import json
import os
import sys

import leman
from leman import cluster
from leman.cluster_render import to_yaml


def _parser():
    parser = argparse.ArgumentParser(prog="leman cluster", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True)
    render = verbs.add_parser("render", allow_abbrev=False)
    render.add_argument("name")
    render.add_argument("--db")
    render.add_argument("--size", choices=list(cluster.PRESETS))
    render.add_argument("--namespace")
    render.add_argument("--image")
    listing = verbs.add_parser("list", allow_abbrev=False)
    listing.add_argument("db")
    delete = verbs.add_parser("delete", allow_abbrev=False)
    delete.add_argument("db")
    delete.add_argument("name")
    for verb in (render, listing):
        verb.add_argument("--json", action="store_true")
    return parser


def _render(arguments):
    if arguments.db is not None:
        unfit = [
            name for name in ("size", "namespace", "image") if getattr(arguments, name) is not None
        ]
        if unfit:
            raise leman.InvalidError(f"--{unfit[0]} is for a cluster that no database defines")
        made = leman.connect(arguments.db).open_cluster(arguments.name)
    else:
        made = cluster.kuberay(
            arguments.name,
            namespace=arguments.namespace or "default",
            size=arguments.size or "small",
            image=arguments.image,
        )
    if made.kind != "kuberay":
        raise leman.InvalidError(
            f"cluster {made.name!r} is {made.kind}; only those of leman.cluster.kuberay() are "
            "resources of Kubernetes"
        )
    resource = made.render()
    print(json.dumps(resource, indent=2) if arguments.json else to_yaml(resource), end="")
    if arguments.json:
        print()


def _list(arguments):
    if not os.path.isdir(arguments.db):
        raise leman.NotFoundError(f"{arguments.db}: there is no such database")
    for made in leman.connect(arguments.db).list_clusters():
        if arguments.json:
            print(json.dumps(made.describe()))
        else:
            print(f"{made.name:20} {made.kind:10} {made.address or ''}".rstrip())


def _delete(arguments):
    leman.connect(arguments.db).delete_cluster(arguments.name)


def main():
    arguments = _parser().parse_args()
    try:
        {"render": _render, "list": _list, "delete": _delete}[arguments.verb](arguments)
    except (leman.InvalidError, leman.NotFoundError, leman.UnsupportedError) as error:
        print(f"leman: {error}", file=sys.stderr)
        return 2
    except leman.LemanError as error:
        print(f"leman: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
