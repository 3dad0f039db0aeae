# SPDX-License-Identifier: Apache-2.0
"""The pods of one kind in a cluster that KubeRay makes, and what may be said of them."""

import re

from leman import _core
from leman.decorator import parse_bytes

# A label of Kubernetes for the nodes that a kind of pod runs on, and for the pods.
NODE_LABELS = {
    "head": "leman.dev/ray-head",
    "cpu": "leman.dev/ray-worker-cpu",
    "gpu": "leman.dev/ray-worker-gpu",
}
_SIZES = {
    "head": {"cpus": 4, "memory": "8G", "gpus": 0},
    "cpu": {"cpus": 4, "memory": "8G", "gpus": 0},
    "gpu": {"cpus": 8, "memory": "16G", "gpus": 1},
}
_WORKERS = {"replicas": 1, "min_replicas": 0, "max_replicas": 100, "idle_timeout_seconds": 60}
_PLAIN = {
    "image": None,
    "node_selector": None,
    "labels": None,
    "tolerations": None,
    "service_account": None,
    "env": None,
    "env_from": None,
}
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NAME_CHARS_MAX = 40  # KubeRay adds to it, and the names of its services have at most 63
_QUANTITY = re.compile(r"(\d+|\d*\.\d+)(m|k|Ki|[MGT]i?)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOLERATION = {"key", "operator", "value", "effect", "tolerationSeconds"}
_WORDS = {  # of a toleration
    "operator": ("Exists", "Equal"),
    "effect": ("NoSchedule", "PreferNoSchedule", "NoExecute"),
}
_OBJECT = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")  # what objects are named
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")
_LABEL = re.compile(rf"({_OBJECT.pattern}/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?")


def check_name(what, name):
    if not isinstance(name, str) or len(name) > _NAME_CHARS_MAX or not _NAME.fullmatch(name):
        raise _core.InvalidError(
            f"no name of a {what}: {name!r}; it is at most {_NAME_CHARS_MAX} lower-case letters, "
            "digits and hyphens, and starts with a letter"
        )


class Group:
    """What each pod of a group is given, and how many there are."""

    def __init__(self, name, kind, cluster, options):
        check_name("group", name)
        if kind != "head" and name == "head":
            raise _core.InvalidError(f"cluster {cluster!r}: the group 'head' is the head itself")
        self.name = name
        self.kind = kind
        self._where = f"cluster {cluster!r}, group {name!r}"
        self.options = dict(options)
        known = _SIZES[kind] | _PLAIN | (_WORKERS if kind != "head" else {})
        for option in options:
            if option not in known:
                raise _core.InvalidError(
                    f"{self._where}: no option {option!r}; there are: {', '.join(sorted(known))}"
                )
        values = known | options
        self.image = self._text("image", values)
        if self.image and re.search(r"\s", self.image):
            self._fail(f"image is a name without spaces, not {self.image!r}")
        self.service_account = self._text("service_account", values)
        if self.service_account:
            self._check_object("service_account", self.service_account)
        self._read_sizes(values)
        self._read_maps(values)
        if kind != "head":
            self._read_replicas(values)

    def __repr__(self):
        return f"<group {self.name!r}: {self.options}>"

    def describe(self):
        return {"name": self.name, "kind": self.kind, "options": self.options}

    def _fail(self, message):
        raise _core.InvalidError(f"{self._where}: {message}")

    def _text(self, option, values):
        value = values[option]
        if value is not None and (not isinstance(value, str) or not value):
            self._fail(f"{option} is a text, not {value!r}")
        return value

    def _check_object(self, option, name):
        if not isinstance(name, str) or not _OBJECT.fullmatch(name):
            self._fail(f"{option} is lower-case letters, digits, hyphens and dots, not {name!r}")

    def _count(self, option, values, least=0):
        value = values[option]
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            self._fail(f"{option} is a whole number of at least {least}, not {value!r}")
        return value

    def _read_sizes(self, values):
        self.cpus = self._quantity("cpus", values["cpus"])
        self.memory = self._memory(values["memory"])
        self.gpus = self._count("gpus", values, 1 if self.kind == "gpu" else 0)

    def _quantity(self, option, value):
        """A quantity of Kubernetes, as text."""
        text = str(value)
        if isinstance(value, bool) or not _QUANTITY.fullmatch(text) or not re.search("[1-9]", text):
            self._fail(f'{option} is a quantity as 2, 0.5 or "500m", not {value!r}')
        return text

    def _memory(self, value):
        """The same of bytes; "8GiB" is said as "8Gi"."""
        if isinstance(value, str) and value.endswith("B"):
            value = value[:-1]
        if not _QUANTITY.fullmatch(str(value)):
            self._fail(f'memory is bytes, or a text as "8Gi", not {value!r}')
        text = self._quantity("memory", value)
        if text.endswith("m") or parse_bytes(text.replace("k", "K")) < 1 << 20:
            self._fail(f'memory is bytes, or a text as "8Gi", not {value!r}')
        return text

    def _read_replicas(self, values):
        self.min_replicas = self._count("min_replicas", values)
        if "replicas" not in self.options:
            values["replicas"] = max(values["replicas"], self.min_replicas)
        self.replicas = self._count("replicas", values)
        self.max_replicas = self._count("max_replicas", values, 1)
        self.idle_timeout_seconds = self._count("idle_timeout_seconds", values, 1)
        if self.min_replicas > self.max_replicas:
            self._fail(
                f"min_replicas is {self.min_replicas}, more than max_replicas, "
                f"which is {self.max_replicas}"
            )
        if not self.min_replicas <= self.replicas <= self.max_replicas:
            self._fail(
                f"replicas is {self.replicas}, which is not within min_replicas "
                f"({self.min_replicas}) and max_replicas ({self.max_replicas})"
            )

    def _read_maps(self, values):
        label = NODE_LABELS[self.kind]
        selector = values["node_selector"]
        self.node_selector = self._labels(
            "node_selector", {label: "true"} if selector is None else selector
        )
        self.labels = {label: "true"} | self._labels("labels", values["labels"] or {})
        self.env = self._map("env", values["env"] or {})
        for name in self.env:
            if not _VARIABLE.fullmatch(name):
                self._fail(f"env names a variable {name!r}, which is no name of one")
        self.env_from = values["env_from"] or []
        if not isinstance(self.env_from, (list, tuple)):
            self._fail(f"env_from is a list of names of Secrets, not {self.env_from!r}")
        for name in self.env_from:
            self._check_object("env_from", name)
        self.tolerations = self._tolerations(values["tolerations"])

    def _map(self, option, value):
        if not isinstance(value, dict):
            self._fail(f"{option} is texts by name, not {value!r}")
        for key, text in value.items():
            if not isinstance(key, str) or not isinstance(text, str):
                self._fail(f"{option} is texts by name, unlike {key!r}: {text!r}")
        return dict(value)

    def _labels(self, option, value):
        for key, text in self._map(option, value).items():
            if not _LABEL.fullmatch(key) or not _LABEL_VALUE.fullmatch(text):
                self._fail(f"{option} has {key!r}: {text!r}, which is no label of Kubernetes")
        return dict(value)

    def _tolerations(self, value):
        if value is None:
            taint = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
            return [taint] if self.kind == "gpu" else []
        if not isinstance(value, (list, tuple)):
            self._fail(f"tolerations is a list of them, not {value!r}")
        for item in value:
            if not isinstance(item, dict) or set(item) - _TOLERATION:
                self._fail(f"{item!r} is no toleration; it has {', '.join(sorted(_TOLERATION))}")
            for name, words in _WORDS.items():
                if item.get(name, words[0]) not in words:
                    self._fail(f"{item!r} is no toleration; {name} is {' or '.join(words)}")
        return [dict(item) for item in value]
