import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { createCloudWorkspace } from "../remote/cloud-sandbox.ts"
import type { CloudSandboxOptions } from "../remote/cloud-sandbox.ts"
import { FAILING_COMMAND_LINE } from "../remote/idle-timeout.ts"
import type { IdleTimeout } from "../remote/idle-timeout.ts"
import type { Transport } from "../remote/transport.ts"
import { findClientProgram } from "../client-program.ts"
import type { ClientProgram } from "../client-program.ts"
import { lastLine, runProgram } from "../run-program.ts"
import type { Workspace } from "../workspace.ts"
import { MODAL_PROGRAM } from "./modal-program.ts"
import { readSnapshot, recordSnapshot } from "./snapshot-file.ts"

export interface ModalOptions extends CloudSandboxOptions {
  /** `<home>/modal_snapshots.json`. */
  readonly snapshotFile: string
}

const PYTHON: ClientProgram = {
  names: ["python3"],
  variable: "HERMES_MODAL_PYTHON",
  missing: "the modal backend needs python3; install it",
}

const SANDBOX_LIFETIME_SECONDS = 3600
const CREATE_TIMEOUT_MS = 600_000

/** Opens a Modal sandbox through Modal's Python library. A snapshot keeps the files between sandboxes. */
export async function openModalWorkspace(options: ModalOptions): Promise<Result<Workspace>> {
  const found = findClientProgram(PYTHON, options.clientEnvironment)
  if (!found.ok) return found
  const python = found.value
  const runModal = async (args: readonly string[], signal = options.signal) =>
    await runProgram([python, "-c", MODAL_PROGRAM, ...args], {
      environment: options.clientEnvironment,
      signal,
      timeoutMs: CREATE_TIMEOUT_MS,
    })
  let id = ""
  const create = async (signal: AbortSignal): Promise<Result<undefined>> => {
    const snapshot = options.isPersistent ? readSnapshot(options.snapshotFile, options.taskId) : undefined
    const limits = [String(options.cpus), String(options.memoryMb), String(SANDBOX_LIFETIME_SECONDS)]
    const created = await runModal(["create", options.image, snapshot ?? "", ...limits], signal)
    if (created.notStarted !== undefined) return fail(`${python} cannot be started: ${created.notStarted}`)
    if (created.code !== 0) return fail(whyNotCreated(created.stderr, python))
    const [createdId = "", origin] = (created.stdout.toString("utf8").trim().split("\n").at(-1) ?? "").split(" ")
    if (snapshot !== undefined && origin === "image") {
      options.log.warning("the snapshot of this Modal sandbox is gone; it starts from its image without your files")
    }
    id = createdId
    return ok(undefined)
  }
  const created = await create(options.signal)
  if (!created.ok) return created
  return await createCloudWorkspace(
    {
      kind: "modal",
      suspend: async () => {
        const never = new AbortController().signal
        if (options.isPersistent) await saveSnapshot(options, await runModal(["snapshot", id], never))
        await runModal(["terminate", id], never)
      },
      resume: create,
      transport: (idleTimeout) => modalTransport(() => id, { ...options, idleTimeout, python }),
    },
    options,
  )
}

async function saveSnapshot(
  { snapshotFile, taskId, log }: ModalOptions,
  result: { readonly code: number; readonly stdout: Buffer; readonly stderr: string },
): Promise<void> {
  const image = result.stdout.toString("utf8").trim().split("\n").at(-1) ?? ""
  if (result.code !== 0 || image === "") {
    log.warning(`the Modal sandbox could not be saved as a snapshot: ${lastLine(result.stderr)}`)
    return
  }
  try {
    await recordSnapshot(snapshotFile, taskId, image)
  } catch (error) {
    log.warning(`the snapshot ${image} of the Modal sandbox could not be recorded: ${errorMessage(error)}`)
  }
}

/** Input is embedded in the script, because the library cannot close a command's stdin from a pipe. */
function modalTransport(
  id: () => string,
  {
    taskId,
    clientEnvironment,
    idleTimeout,
    python,
  }: ModalOptions & { readonly idleTimeout: IdleTimeout; readonly python: string },
): Transport {
  return {
    name: `modal sandbox of ${taskId}`,
    environment: clientEnvironment,
    pipesInput: false,
    commandLine: (script, args) => {
      if (idleTimeout.isSuspended()) return FAILING_COMMAND_LINE
      idleTimeout.touch()
      return [python, "-c", MODAL_PROGRAM, "exec", id(), "sh", "-c", script, "hermes", ...args]
    },
    explain: ({ notStarted, stderr }) => `the Modal sandbox ${id()} did not respond: ${notStarted ?? lastLine(stderr)}`,
    reopen: async (_failure, signal) => await idleTimeout.resume(signal),
  }
}

function whyNotCreated(stderr: string, python: string): string {
  if (/package modal is not installed/.test(stderr))
    return `${python} has no package modal; run \`pip install modal\`, or set ${PYTHON.variable} to the python3 of an environment that has it`
  if (/AuthError|token/i.test(stderr)) {
    return "you are not logged in to Modal; run `modal setup` or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"
  }
  return `the Modal sandbox could not be created: ${lastLine(stderr)}`
}
