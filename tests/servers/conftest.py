# SPDX-License-Identifier: Apache-2.0
"""A Kubernetes API server with KubeRay's operator, on ports of this machine, for one session."""

import json
import os
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
TOKEN = "a-token-of-this-test"
PATIENCE_SECONDS = 120


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Kubernetes:
    """What tests ask of the API: JSON in, JSON out; a refusal is an HTTPError with its text."""

    def __init__(self, port):
        self.url = f"https://127.0.0.1:{port}"
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE  # the server made its certificate a moment ago

    def call(self, method, path, body=None, kind="application/json"):
        request = urllib.request.Request(self.url + path, method=method)
        request.add_header("Authorization", f"Bearer {TOKEN}")
        request.add_header("Content-Type", kind)
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(
            request, data=data, context=self._context, timeout=30
        ) as answer:
            text = answer.read()
        return json.loads(text) if text.startswith(b"{") else text.decode()

    def get(self, path):
        return self.call("GET", path)

    def create(self, path, body):
        """Create; fields that the schema does not know are errors."""
        return self.call("POST", f"{path}?fieldValidation=Strict", body)

    def apply(self, path, body):
        query = "fieldManager=tests&force=true"
        return self.call("PATCH", f"{path}?{query}", body, "application/apply-patch+yaml")

    def wait(self, what, check):
        """Ask again until `check()` answers something; its errors of the network count as no."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                found = check()
                if found:
                    return found
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                pass
            assert time.monotonic() < deadline, f"no {what} within {PATIENCE_SECONDS} s"
            time.sleep(0.2)


def start(command, log, **options):
    return subprocess.Popen(
        [str(part) for part in command], stdout=log, stderr=subprocess.STDOUT, **options
    )


def api_server(servers, folder, port, etcd_port, log):
    key = folder / "service-account.key"
    subprocess.run(
        ["openssl", "genrsa", "-out", key, "2048"], check=True, stderr=subprocess.DEVNULL
    )
    tokens = folder / "tokens.csv"
    tokens.write_text(f"{TOKEN},tests,tests,system:masters\n")
    return start(
        [
            servers / "kube-apiserver",
            f"--etcd-servers=http://127.0.0.1:{etcd_port}",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={folder / 'certificates'}",
            f"--token-auth-file={tokens}",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
        ],
        log,
    )


def operator(servers, folder, url, log):
    config = folder / "kubeconfig"
    user = {"name": "tests", "user": {"token": TOKEN}}
    cluster = {"name": "tests", "cluster": {"server": url, "insecure-skip-tls-verify": True}}
    context = {"name": "tests", "context": {"cluster": "tests", "user": "tests"}}
    config.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [cluster],
                "users": [user],
                "contexts": [context],
                "current-context": "tests",
            }
        )
    )
    health, metrics = free_ports(2)
    return start(
        [
            servers / "ray-operator",
            "--leader-election-namespace=default",
            f"--health-probe-bind-address=127.0.0.1:{health}",
            f"--metrics-addr=127.0.0.1:{metrics}",
        ],
        log,
        env=dict(os.environ, KUBECONFIG=str(config)),
        cwd=folder,
    )


def install_crds(kubernetes, servers):
    for path in sorted((servers / "crds").glob("*.yaml")):
        body = yaml.safe_load(path.read_text())
        name = body["metadata"]["name"]
        place = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}"
        kubernetes.apply(place, body)
    kubernetes.wait("RayCluster in the API", lambda: kubernetes.get("/apis/ray.io/v1/rayclusters"))


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory):
    built = subprocess.run([ROOT / "tools/servers", "--where"], capture_output=True, text=True)
    if built.returncode != 0:
        pytest.fail("the servers are not built: run tools/servers")
    servers = Path(built.stdout.strip())
    folder = tmp_path_factory.mktemp("servers")
    etcd_port, peer_port, port = free_ports(3)
    started = []
    with open(folder / "log", "wb") as log:
        try:
            client = f"http://127.0.0.1:{etcd_port}"
            etcd = [
                servers / "etcd",
                f"--data-dir={folder / 'etcd'}",
                f"--listen-client-urls={client}",
                f"--advertise-client-urls={client}",
                f"--listen-peer-urls=http://127.0.0.1:{peer_port}",
                "--unsafe-no-fsync",
            ]
            started.append(start(etcd, log))
            started.append(api_server(servers, folder, port, etcd_port, log))
            made = Kubernetes(port)
            made.wait("API server", lambda: made.get("/readyz") == "ok")
            install_crds(made, servers)
            started.append(operator(servers, folder, made.url, log))
            yield made
        finally:
            for process in reversed(started):
                process.terminate()
            for process in reversed(started):
                try:
                    process.wait(timeout=10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
