import { scriptFunction } from "./script-function.ts"
import type { ScriptTool } from "./script-function.ts"

/** The files of a Python script by name. */
export function pythonFiles(code: string, tools: readonly ScriptTool[]): Readonly<Record<string, string>> {
  return { "script.py": code, "hermes_tools.py": toolsModule(tools) }
}

export function pythonArguments(directory: string): readonly string[] {
  return ["-u", `${directory}/script.py`]
}

/** Optional parameters are omitted from the call when they are not given. */
function toolsModule(tools: readonly ScriptTool[]): string {
  const functions = tools.map(scriptFunction).map(({ name, parameters, aliases }) => {
    const required = parameters.filter(({ isRequired }) => isRequired)
    const optional = parameters.filter(({ isRequired }) => !isRequired)
    const declared = [...required.map((one) => one.name), ...optional.map((one) => `${one.name}=None`)].join(", ")
    const passed = parameters.map((one) => `"${one.name}": ${one.name}`).join(", ")
    const others = aliases.map((alias) => `${alias} = ${name}`)
    return [`def ${name}(${declared}):`, `    return _call("${name}", {${passed}})`, ...others, ""].join("\n")
  })
  return `${RUNTIME}\n${functions.join("\n")}`
}

const RUNTIME = `import base64
import itertools
import json
import os
import shlex
import socket
import threading
import time

_CALL_TIMEOUT = 300
_address = os.environ.get("HERMES_RPC_SOCKET", "")
_token = os.environ.get("HERMES_RPC_TOKEN", "")
_ids = itertools.count(1)
_lock = threading.Lock()
_connection = None


class _Socket:
    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=descriptor)
        self._waiting = {}
        self._closed = False
        self._sending = threading.Lock()
        self._send({"auth": _token})
        threading.Thread(target=self._read, daemon=True).start()

    def _send(self, message):
        with self._sending:
            self._socket.sendall(json.dumps(message).encode() + b"\\n")

    def _read(self):
        parts = []
        try:
            while True:
                chunk = self._socket.recv(65536)
                if not chunk:
                    break
                *ended, rest = chunk.split(b"\\n")
                for line in ended:
                    parts.append(line)
                    self._answered(json.loads(b"".join(parts)))
                    parts = []
                parts.append(rest)
        except (OSError, ValueError):
            pass
        self._closed = True
        for event, answer in list(self._waiting.values()):
            event.set()
        # Hermes has ended, or has closed the connection: the script can do nothing useful any more.
        time.sleep(1)
        os._exit(1)

    def _answered(self, answer):
        if "id" not in answer:
            for event, slot in list(self._waiting.values()):
                slot.append(answer)
                event.set()
            return
        found = self._waiting.get(answer["id"])
        if found is not None:
            found[1].append(answer)
            found[0].set()

    def call(self, request):
        event, slot = threading.Event(), []
        self._waiting[request["id"]] = (event, slot)
        try:
            if self._closed:
                raise RuntimeError("the connection to Hermes is closed")
            try:
                self._send(request)
            except OSError:
                raise RuntimeError("the connection to Hermes is closed") from None
            if not event.wait(_CALL_TIMEOUT):
                raise RuntimeError("%s was not answered within %d s" % (request["tool"], _CALL_TIMEOUT))
            if not slot:
                raise RuntimeError("the connection to Hermes is closed")
            return slot[0]
        finally:
            self._waiting.pop(request["id"], None)


class _Spool:
    def __init__(self, directory):
        self._directory = directory

    def call(self, request):
        name = "%06d" % request["id"]
        path = os.path.join(self._directory, "req_" + name)
        with open(path + ".tmp", "wb") as file:
            file.write(base64.b64encode(json.dumps({"auth": _token, **request}).encode()))
        os.rename(path + ".tmp", path)
        answer = os.path.join(self._directory, "res_" + name)
        delay, ends = 0.05, time.monotonic() + _CALL_TIMEOUT
        while not os.path.exists(answer):
            if time.monotonic() > ends:
                raise RuntimeError("%s was not answered within %d s" % (request["tool"], _CALL_TIMEOUT))
            time.sleep(delay)
            delay = min(0.25, delay * 1.5)
        with open(answer, "rb") as file:
            text = base64.b64decode(file.read())
        os.remove(answer)
        return json.loads(text)


def _call(tool, args):
    global _connection
    with _lock:
        if _connection is None:
            spool = _address.startswith("spool:")
            _connection = _Spool(_address[6:]) if spool else _Socket(int(_address[3:]))
        number = next(_ids)
    given = {name: value for name, value in args.items() if value is not None}
    answer = _connection.call({"id": number, "tool": tool, "args": given})
    return {"error": answer["error"]} if "error" in answer else answer.get("result")


def retry(fn, max_attempts=3, delay=2):
    for attempt in range(1, max_attempts + 1):
        try:
            return fn()
        except Exception:
            if attempt == max_attempts:
                raise
            time.sleep(delay)
            delay *= 2


def shell_quote(text):
    return shlex.quote(str(text))


def json_parse(text):
    try:
        return json.loads(text, strict=False)
    except ValueError:
        starts = [at for at in (text.find("{"), text.find("[")) if at != -1]
        if not starts:
            raise
        return json.JSONDecoder(strict=False).raw_decode(text[min(starts):])[0]


`
