# SPDX-License-Identifier: Apache-2.0
"""Where jobs run: on this machine, or on a cluster."""

import contextlib
import contextvars
import os

ENGINES = ("local", "ray")

_cluster = contextvars.ContextVar("leman_cluster", default=None)
_environment = contextvars.ContextVar("leman_environment", default=None)
_ahead = contextvars.ContextVar("leman_ahead", default=None)

# What environment= may say of shipping: the options of leman.environment.capture() and plan().
_SHIPPING = ("workspace", "skip_site_packages", "bytes_max", "env_store", "manifest")


@contextlib.contextmanager
def context(cluster, environment=None):
    """Jobs that are started inside run on a cluster; see ``Database.context()``."""
    if not hasattr(cluster, "init"):
        raise TypeError(
            "context() takes a cluster, such as leman.cluster.local() or "
            f'leman.cluster.external("ray://host:10001"), not {cluster!r}'
        )
    environment = check_environment(environment)
    from leman.shipping import read_ahead

    ahead = read_ahead(cluster, environment)  # while Ray is connected
    cluster.init()
    given = (_cluster, cluster), (_environment, environment), (_ahead, ahead)
    tokens = [(variable, variable.set(value)) for variable, value in given]
    try:
        yield cluster
    finally:
        for variable, token in tokens:
            variable.reset(token)


def check_environment(environment):
    """What environment= was given: None, False, options of shipping, or an ``Environment``."""
    if environment is True:
        return {}
    if isinstance(environment, dict):
        for name in environment:
            if name not in _SHIPPING:
                raise TypeError(
                    f"environment= has no option {name!r}; there are: {', '.join(_SHIPPING)}"
                )
    elif environment is not None and environment is not False:
        if not hasattr(environment, "unpack"):
            raise TypeError(
                "environment is what leman.environment.capture() or load() gives, True, False or "
                f"options of capture() as a dict, not {environment!r:.100}"
            )
    return environment


def current_environment():
    """The environment of the context that this is called in; None outside of any."""
    return _environment.get()


def current_ahead():
    """What reads ahead for the context that this is called in; None outside of any."""
    return _ahead.get()


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
