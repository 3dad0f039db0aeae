# SPDX-License-Identifier: Apache-2.0
"""A Jupyter kernel, driven by its messages as a notebook does it."""

import os

import pytest
from jupyter_client.manager import KernelManager

SECONDS = 120


class Kernel:
    """A kernel in a folder."""

    def __init__(self, folder):
        self._manager = KernelManager(kernel_name="python3")
        self._environment = os.environ | {
            "XDG_STATE_HOME": str(folder / "state"),
            "IPYTHONDIR": str(folder / "ipython"),
            "JUPYTER_RUNTIME_DIR": str(folder / "runtime"),
        }
        self._manager.start_kernel(cwd=str(folder), env=self._environment)
        self._connect()

    def _connect(self):
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=SECONDS)

    def messages(self, code):
        """What a cell makes the kernel send: [(type, content)]."""
        sent = []

        def keep(message):
            sent.append((message["msg_type"], message["content"]))

        reply = self._client.execute_interactive(code, timeout=SECONDS, output_hook=keep)
        if reply["content"]["status"] != "ok":
            raise AssertionError("\n".join(reply["content"]["traceback"]))
        return sent

    def run(self, code):
        """What a cell prints."""
        found = [content["text"] for kind, content in self.messages(code) if kind == "stream"]
        return "".join(found)

    def restart(self):
        self._client.stop_channels()
        self._manager.restart_kernel(now=True)
        self._connect()

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("kernel")


@pytest.fixture(scope="module")
def kernel(folder):
    made = Kernel(folder)
    yield made
    made.close()
