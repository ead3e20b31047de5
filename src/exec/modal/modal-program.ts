/**
 * Modal has no command-line program for sandboxes, only a Python library, so the user's Python runs this small program. `exec` passes the
 * output and the exit code of a command through; the other actions print one line.
 */
export const MODAL_PROGRAM = `
import sys

try:
    import modal
except ImportError:
    sys.stderr.write("the Python package modal is not installed; run pip install modal\\n")
    sys.exit(3)

action, arguments = sys.argv[1], sys.argv[2:]

if action == "create":
    image_name, snapshot, cpu, memory, timeout = arguments
    app = modal.App.lookup("hermes-agent", create_if_missing=True)
    limits = {"timeout": int(timeout)}
    if float(cpu) > 0:
        limits["cpu"] = float(cpu)
    if int(memory) > 0:
        limits["memory"] = int(memory)
    base = lambda: modal.Image.from_registry(image_name)
    origin = "snapshot"
    try:
        if snapshot == "":
            raise LookupError()
        sandbox = modal.Sandbox.create("sleep", "infinity", app=app, image=modal.Image.from_id(snapshot), **limits)
    except Exception:
        origin = "image"
        sandbox = modal.Sandbox.create("sleep", "infinity", app=app, image=base(), **limits)
    print(sandbox.object_id, origin)
elif action == "exec":
    sandbox = modal.Sandbox.from_id(arguments[0])
    process = sandbox.exec(*arguments[1:], text=False)
    for chunk in process.stdout:
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    code = process.wait()
    sys.stderr.buffer.write(process.stderr.read())
    sys.exit(code)
elif action == "snapshot":
    print(modal.Sandbox.from_id(arguments[0]).snapshot_filesystem().object_id)
elif action == "terminate":
    modal.Sandbox.from_id(arguments[0]).terminate()
`
