import { setTimeout as delay } from "node:timers/promises"

import type { BackgroundCommand, ExitStatus } from "../workspace.ts"
import { killRemoteCommand } from "./kill-remote.ts"
import { POLL_SCRIPT, START_SCRIPT } from "./process-scripts.ts"
import { runScript } from "./transport.ts"
import type { Transport } from "./transport.ts"

export interface RemoteBackgroundOptions {
  readonly transport: Transport
  readonly tag: string
  readonly commandLine: readonly string[]
  readonly cwd: string
  /** Base path of the remote log, process id and exit code files. */
  readonly base: string
  readonly onOutput: (text: string) => void
  /** Aborted when the workspace closes: polling stops. */
  readonly signal: AbortSignal
}

/**
 * Starts a background command that does not need the connection: it writes to a remote log, which is polled every two seconds. It has no
 * stdin. Throws when the command cannot be started.
 */
export async function startRemoteBackground(options: RemoteBackgroundOptions): Promise<BackgroundCommand> {
  const { transport, tag } = options
  const result = await runScript(
    transport,
    { script: START_SCRIPT, args: [tag, options.cwd, options.base, ...options.commandLine] },
    { signal: options.signal, timeoutMs: START_TIMEOUT_MS, mayReopen: true },
  )
  if (result.kind === "unreachable") throw new Error(result.error)
  if (result.code !== 0) throw new Error(result.stderr.trim().replace(/^.*?: (?=[^:]+:[^:]+$)/, ""))
  const [pid = "", stat = ""] = result.stdout.toString("utf8").split("\n")
  const killing = new AbortController()
  const exit = pollUntilExit(options, killing.signal)
  return {
    pid: Number(pid),
    startToken: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "",
    isPty: false,
    exit,
    write: () => false,
    closeInput: () => false,
    kill: async () => {
      await killRemoteCommand(transport, { tag })
      killing.abort()
      await exit
    },
  }
}

const START_TIMEOUT_MS = 30_000
const POLL_TIMEOUT_MS = 30_000
const FIRST_POLL_MS = 100
const POLL_MS = 2000
/** After this many failed polls in a row the connection counts as lost. */
const MAX_FAILED_POLLS = 15
const MAX_BYTES_PER_POLL = 1_000_000

/** Polls often at first, so that the end of a short command is noticed soon. */
async function pollUntilExit(options: RemoteBackgroundOptions, killing: AbortSignal): Promise<ExitStatus> {
  const decoder = new TextDecoder("utf-8")
  const wake = AbortSignal.any([options.signal, killing])
  let known = 0
  let failed = 0
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(POLL_MS, pause * 2)) {
    await delay(pause, undefined, { signal: wake }).catch(() => undefined)
    if (options.signal.aborted) return { how: "interrupted", code: 130 }
    const update = await poll(options, known)
    failed = update === undefined ? failed + 1 : 0
    if (failed === MAX_FAILED_POLLS || (update === undefined && killing.aborted)) return LOST
    if (update === undefined) continue
    known = update.length
    const text = decoder.decode(update.bytes, { stream: true })
    if (text !== "") options.onOutput(text)
    if (update.state === "running" && !killing.aborted) continue
    return exitStatus(update.state)
  }
}

const LOST: ExitStatus = { how: "exited", code: -1, error: "the workspace it ran in can no longer be reached" }

function exitStatus(state: string): ExitStatus {
  if (/^\d+$/.test(state)) return { how: "exited", code: Number(state) }
  return { how: "exited", code: -15, error: "it was killed from outside" }
}

async function poll({ transport, base, signal }: RemoteBackgroundOptions, known: number) {
  const result = await runScript(
    transport,
    { script: POLL_SCRIPT, args: [base, String(known), String(MAX_BYTES_PER_POLL)] },
    { signal, timeoutMs: POLL_TIMEOUT_MS },
  )
  if (result.kind === "unreachable") return undefined
  const headerEnd = result.stdout.indexOf(10)
  const [length, , state = "lost"] = result.stdout.subarray(0, headerEnd).toString("utf8").split(" ")
  return { length: Number(length), state, bytes: result.stdout.subarray(headerEnd + 1) }
}
