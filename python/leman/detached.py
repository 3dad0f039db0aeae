# SPDX-License-Identifier: Apache-2.0
"""Jobs that outlive the terminal: ``backfill(detach=True)``.

A process of a session of its own runs the job. It is handed the arguments and the functions, and
tells once, through a pipe, whether the job runs or why it does not; then nothing ties it to the
process that started it.
"""

import base64
import builtins
import json
import os
import secrets
import subprocess
import sys
import tempfile

from leman import _core, function, registry
from leman.jobs import JobRecord, records

_FD = "LEMAN_DETACHED_FD"
_POLL_MS = 20


def start(table, columns, options):
    """Start the backfill in a process of its own; returns its ``JobRecord`` once it runs."""
    from leman.backfill import Request

    options = {"job_id": secrets.token_hex(5), **_given(options)}
    request = Request(table, columns, **options)  # what is wrong is said here
    message = {
        "table": os.path.abspath(table.path),
        "columns": request.columns,
        "options": _portable(options),
        "functions": [_lend(*parts) for parts in request.parts],
        "path": [os.path.abspath(folder) for folder in sys.path],
        "cwd": os.getcwd(),
        "arguments": sys.argv,
    }
    answer = _launch(json.dumps(message))
    if "error" in answer:
        raise _exception(answer["error"], answer["text"])
    return JobRecord(table, records(table, options["job_id"])[0])


def _given(options):
    return {name: value for name, value in options.items() if value is not None}


def _portable(options):
    for name, value in options.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            raise TypeError(
                f"detach=True hands {name}= to another process, which {value!r} does not survive"
            ) from None
    return options


def _lend(udf, inputs, outputs):
    """A function as the other process gets it."""
    lent = {"inputs": list(inputs), "outputs": list(outputs)}
    if udf.language == "c":
        import cloudpickle

        lent |= {"library": udf.library, "name": udf.name}
        return {**lent, "options": _text_of(cloudpickle.dumps(udf.options, protocol=5))}
    return {**lent, "code": _text_of(function.pack(udf, inputs, outputs))}


def _text_of(data):
    return base64.b64encode(data).decode()


def _launch(message):
    """Start the process, give it the message, and wait for its answer."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = f"import sys; sys.path.append({root!r}); from leman.detached import main; main()"
    reader, writer = os.pipe()
    with tempfile.TemporaryFile() as said, os.fdopen(reader, encoding="utf-8") as answers:
        with os.fdopen(writer, "wb"):
            process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                pass_fds=[writer],
                env={**os.environ, _FD: str(writer)},
                start_new_session=True,
            )
        process.communicate(message.encode())  # it leaves at once; a child of it goes on
        line = answers.readline()
        if line:
            return json.loads(line)
        said.seek(0)
        text = said.read().decode(errors="replace").strip()
    return {"error": "LemanError", "text": f"the process of the job ended: {text[-2000:]}"}


def _exception(name, text):
    kind = getattr(_core, name, None) or getattr(builtins, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Exception)):
        kind = _core.LemanError
    return kind(text)


# The other process


def main():
    message = json.load(sys.stdin)
    if os.fork():
        os._exit(0)  # so that nobody has to wait for the job's process
    fd = int(os.environ.pop(_FD))
    os.set_inheritable(fd, False)
    with os.fdopen(fd, "w", encoding="utf-8") as answers:
        try:
            job = _start(message)
        except Exception as error:
            answer = {"error": type(error).__name__, "text": str(error)}
            answers.write(json.dumps(answer) + "\n")
            return
        _leave_terminal()
        answers.write(json.dumps({"id": job.id}) + "\n")
    try:
        job.run(progress=False)
    except (_core.LemanError, KeyboardInterrupt):
        pass  # the record says it


def _start(message):
    import leman
    from leman.backfill import Request

    _enter(message)
    sys.argv = message["arguments"]
    table = leman.open(message["table"])
    for lent in message["functions"]:
        _borrow(table, lent)
    job = Request(table, message["columns"], **message["options"]).start()
    while _recorded(table, job.id) in (None, "planning") and not job._core.wait(_POLL_MS):
        pass
    if job.status()["state"] in ("failed", "stopped"):
        job.wait()  # raises
    return job


def _recorded(table, job_id):
    """The state of a job as others see it."""
    found = records(table, job_id)
    return found[0]["state"] if found else None


def _enter(message):
    """Modules and relative paths are found as where the job was asked for."""
    known = set(sys.path)
    sys.path.extend(folder for folder in message["path"] if folder not in known)
    os.chdir(message["cwd"])


def _borrow(table, lent):
    if "library" in lent:
        import pickle

        from leman.decorator import CUdf

        options = pickle.loads(base64.b64decode(lent["options"]))
        udf = CUdf(lent["library"], lent["name"], options)
        registry.add_functions(table, [(lent["outputs"], udf, lent["inputs"])])
        return
    for column in lent["outputs"]:
        registry.lend(table, column, base64.b64decode(lent["code"]))


def _leave_terminal():
    """Nothing that is printed from here on has a reader."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)
