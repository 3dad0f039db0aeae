# SPDX-License-Identifier: Apache-2.0
"""Where the workers of a job run: the engine, and what of a cluster they ask for."""

import os
from collections.abc import Mapping

from leman.context import (
    check_environment,
    current_cluster,
    current_environment,
    engine_of,
)


def _check_mapping(option, value):
    if value is not None and not isinstance(value, Mapping):
        raise TypeError(f"{option} is a dict, not {value!r}")


def _amounts(value):
    """{"accelerator": 1}, checked."""
    _check_mapping("resources", value)
    for name, amount in (value or {}).items():
        number = isinstance(amount, (int, float)) and not isinstance(amount, bool)
        if not isinstance(name, str) or not number or amount <= 0:
            raise ValueError(f"resources is amounts by name, unlike {name!r}: {amount!r}")
        if name in ("CPU", "GPU", "memory"):
            raise ValueError(f"resources: {name} is asked for by num_cpus, num_gpus or memory")
    return dict(value or {})


def _texts(option, value):
    _check_mapping(option, value)
    for name, text in (value or {}).items():
        if not isinstance(name, str) or not isinstance(text, str) or not name:
            raise ValueError(f"{option} is texts by text, unlike {name!r}: {text!r}")
    return dict(value or {})


def place_of(table):
    """Where a table is, for processes that are in other folders: a folder, and a name or None."""
    root, name = table._place
    return os.path.abspath(root), name


class Placement:
    """The options of ``udf()`` and ``backfill()`` that are about clusters."""

    def __init__(self, options, engine=None, path_map=None):
        self.resources = _amounts(options.pop("resources", None))
        self.node_labels = _texts("node_labels", options.pop("node_labels", None))
        self.engine = engine
        self.path_map = _texts("path_map", path_map)
        self.environment = None
        self.concurrency = None  # of the cluster's size, where the job is told none
        self.batch_size = None

    @classmethod
    def of_function(cls, options):
        return cls(options)

    @classmethod
    def of_job(cls, options):
        """What a job was given; taken out of `options`."""
        engine = engine_of(options.pop("engine", None))
        made = cls(options, engine, options.pop("path_map", None))
        environment = check_environment(options.pop("environment", None))
        made.environment = environment if environment is not None else current_environment()
        if engine != "ray":
            made._refuse_cluster_options()
        else:
            made.concurrency = getattr(current_cluster(), "concurrency", None)
            made.batch_size = getattr(current_cluster(), "batch_size", None)
        return made

    def _refuse_cluster_options(self):
        """What a job asks of a cluster, and this machine cannot give."""
        for name in ("resources", "node_labels", "path_map"):
            if getattr(self, name):
                raise ValueError(
                    f"{name}= is about workers of a cluster, and this job runs on this machine; "
                    'say engine="ray", or run it inside of db.context(cluster)'
                )

    def path_there(self, path):
        """A path of this machine as the cluster has it, by the longest prefix that is mapped."""
        for here in sorted(self.path_map, key=len, reverse=True):
            if path == here or path.startswith(here.rstrip("/") + "/"):
                return self.path_map[here].rstrip("/") + path[len(here.rstrip("/")) :]
        return path
