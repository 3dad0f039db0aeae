# SPDX-License-Identifier: Apache-2.0
"""Where jobs run: on this machine, or on a cluster."""

import contextlib
import contextvars
import os

ENGINES = ("local", "ray")

_cluster = contextvars.ContextVar("leman_cluster", default=None)
_environment = contextvars.ContextVar("leman_environment", default=None)


@contextlib.contextmanager
def context(cluster, environment=None):
    """Jobs that are started inside run on a cluster; see ``Database.context()``."""
    if not hasattr(cluster, "init"):
        raise TypeError(
            "context() takes a cluster, such as leman.cluster.local() or "
            f'leman.cluster.external("ray://host:10001"), not {cluster!r}'
        )
    cluster.init()
    tokens = _cluster.set(cluster), _environment.set(check_environment(environment))
    try:
        yield cluster
    finally:
        _environment.reset(tokens[1])
        _cluster.reset(tokens[0])


def check_environment(environment):
    if environment is not None and not hasattr(environment, "runtime_env"):
        raise TypeError(
            "environment is what leman.environment.capture() or load() gives, not "
            f"{environment!r:.100}"
        )
    return environment


def current_environment():
    """The environment of the context that this is called in; None outside of any."""
    return _environment.get()


def current_cluster():
    """The cluster of the context that this is called in; None outside of any."""
    return _cluster.get()


def engine_of(engine):
    """ "local" or "ray": what was asked for, what the context says, LEMAN_ENGINE, or local."""
    if engine is None:
        engine = "ray" if _cluster.get() is not None else os.environ.get("LEMAN_ENGINE") or "local"
    if engine not in ENGINES:
        raise ValueError(f'engine is "local" or "ray", not {engine!r}')
    return engine
