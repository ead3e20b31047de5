import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { errorMessage } from "../../base/system-error.ts"
import { askClient, lastLine } from "../remote/client-process.ts"
import { NOBODY_THERE } from "../remote/idle-watch.ts"
import type { IdleWatch } from "../remote/idle-watch.ts"
import { workspaceInRented } from "../remote/rented-sandbox.ts"
import type { RentedSandboxOptions } from "../remote/rented-sandbox.ts"
import type { Transport } from "../remote/transport.ts"
import type { Workspace } from "../workspace.ts"
import { MODAL_PROGRAM } from "./modal-program.ts"
import { readSnapshot, rememberSnapshot } from "./snapshot-file.ts"

export interface ModalOptions extends RentedSandboxOptions {
  /** `<home>/modal_snapshots.json`. */
  readonly snapshotFile: string
}

const SANDBOX_SECONDS = 3600
const CREATE_MS = 600_000

/** A sandbox of the Modal service, through its Python library. Files are kept as a snapshot between sandboxes. */
export async function openModalWorkspace(options: ModalOptions): Promise<Result<Workspace>> {
  const ask = async (args: readonly string[], signal = options.signal) =>
    await askClient(["python3", "-c", MODAL_PROGRAM, ...args], {
      environment: options.clientEnvironment,
      signal,
      timeoutMs: CREATE_MS,
    })
  let id = ""
  const create = async (signal: AbortSignal): Promise<Result<undefined>> => {
    const snapshot = options.isPersistent ? readSnapshot(options.snapshotFile, options.taskId) : undefined
    const limits = [String(options.cpus), String(options.memoryMb), String(SANDBOX_SECONDS)]
    const created = await ask(["create", options.image, snapshot ?? "", ...limits], signal)
    if (created.notStarted !== undefined) return fail("the modal backend needs python3; install it")
    if (created.code !== 0) return fail(whyNotCreated(created.stderr))
    const [made = "", origin] = (created.stdout.toString("utf8").trim().split("\n").at(-1) ?? "").split(" ")
    if (snapshot !== undefined && origin === "image") {
      options.log.warning("the kept files of this Modal sandbox are gone; it starts from its image")
    }
    id = made
    return ok(undefined)
  }
  const created = await create(options.signal)
  if (!created.ok) return created
  return await workspaceInRented(
    {
      kind: "modal",
      giveUp: async () => {
        const never = new AbortController().signal
        if (options.isPersistent) await keepFiles(options, await ask(["snapshot", id], never))
        await ask(["terminate", id], never)
      },
      wake: create,
      transport: (watch) => modalTransport(() => id, { ...options, watch }),
    },
    options,
  )
}

async function keepFiles(
  { snapshotFile, taskId, log }: ModalOptions,
  answer: { readonly code: number; readonly stdout: Buffer; readonly stderr: string },
): Promise<void> {
  const image = answer.stdout.toString("utf8").trim().split("\n").at(-1) ?? ""
  if (answer.code !== 0 || image === "") {
    log.warning(`the files of the Modal sandbox could not be kept: ${lastLine(answer.stderr)}`)
    return
  }
  try {
    await rememberSnapshot(snapshotFile, taskId, image)
  } catch (error) {
    log.warning(`the snapshot ${image} of the Modal sandbox could not be noted: ${errorMessage(error)}`)
  }
}

/** Input travels inside the script: the library cannot end the input of a command from a pipe. */
function modalTransport(
  id: () => string,
  { taskId, clientEnvironment, watch }: ModalOptions & { readonly watch: IdleWatch },
): Transport {
  return {
    name: `modal sandbox of ${taskId}`,
    environment: clientEnvironment,
    pipesInput: false,
    commandLine: (script, args) => {
      if (watch.isResting()) return NOBODY_THERE
      watch.touch()
      return ["python3", "-c", MODAL_PROGRAM, "exec", id(), "sh", "-c", script, "hermes", ...args]
    },
    explain: ({ notStarted, stderr }) => `the Modal sandbox ${id()} did not answer: ${notStarted ?? lastLine(stderr)}`,
    reopen: async (_failure, signal) => await watch.wake(signal),
  }
}

function whyNotCreated(stderr: string): string {
  if (/package modal is not installed/.test(stderr))
    return "the Python package modal is not installed; run `pip install modal`"
  if (/AuthError|token/i.test(stderr)) {
    return "Modal does not know who you are; run `modal setup` or set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"
  }
  return `the Modal sandbox could not be created: ${lastLine(stderr)}`
}
