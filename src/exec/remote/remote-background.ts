import { setTimeout as delay } from "node:timers/promises"

import type { BackgroundCommand, CommandExit } from "../workspace.ts"
import { endRemotely } from "./end-remotely.ts"
import { POLL_SCRIPT, START_SCRIPT } from "./process-scripts.ts"
import { askScript } from "./transport.ts"
import type { Transport } from "./transport.ts"

export interface RemoteBackgroundOptions {
  readonly transport: Transport
  readonly tag: string
  readonly commandLine: readonly string[]
  readonly cwd: string
  /** Log, process id and exit code are kept over there under this path. */
  readonly base: string
  readonly onOutput: (text: string) => void
  /** The workspace closes: nobody looks any more. */
  readonly signal: AbortSignal
}

/**
 * Starts a command that goes on without a connection: it writes to a log over there, which is looked at every two seconds. Nothing can be
 * written to it. Throws when it could not be started.
 */
export async function startRemoteBackground(options: RemoteBackgroundOptions): Promise<BackgroundCommand> {
  const { transport, tag } = options
  const answer = await askScript(
    transport,
    { script: START_SCRIPT, args: [tag, options.cwd, options.base, ...options.commandLine] },
    { signal: options.signal, timeoutMs: START_WITHIN_MS, mayReopen: true },
  )
  if (answer.kind === "unreachable") throw new Error(answer.error)
  if (answer.code !== 0) throw new Error(answer.stderr.trim().replace(/^.*?: (?=[^:]+:[^:]+$)/, ""))
  const [pid = "", stat = ""] = answer.stdout.toString("utf8").split("\n")
  const killing = new AbortController()
  const exit = follow(options, killing.signal)
  return {
    pid: Number(pid),
    startToken: stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "",
    isPty: false,
    exit,
    write: () => false,
    closeInput: () => false,
    kill: async () => {
      await endRemotely(transport, { tag })
      killing.abort()
      await exit
    },
  }
}

type Ending = Pick<CommandExit, "how" | "code" | "error">

const START_WITHIN_MS = 30_000
const POLL_WITHIN_MS = 30_000
const FIRST_POLL_MS = 100
const POLL_MS = 2000
/** A link that stays away for this many looks is taken for lost. */
const MAX_FAILED_POLLS = 15
const MAX_BYTES_PER_POLL = 1_000_000

/** Looks often in the beginning, so that a short command is seen to end soon. */
async function follow(options: RemoteBackgroundOptions, killing: AbortSignal): Promise<Ending> {
  const decoder = new TextDecoder("utf-8")
  const wake = AbortSignal.any([options.signal, killing])
  let known = 0
  let failed = 0
  for (let pause = FIRST_POLL_MS; ; pause = Math.min(POLL_MS, pause * 2)) {
    await delay(pause, undefined, { signal: wake }).catch(() => undefined)
    if (options.signal.aborted) return { how: "interrupted", code: 130 }
    const news = await poll(options, known)
    failed = news === undefined ? failed + 1 : 0
    if (failed === MAX_FAILED_POLLS || (news === undefined && killing.aborted)) return LOST
    if (news === undefined) continue
    known = news.length
    const text = decoder.decode(news.bytes, { stream: true })
    if (text !== "") options.onOutput(text)
    // A long log comes in several parts; its end is reported when all of it has been read.
    if (news.state === "running" && !killing.aborted) continue
    return ending(news.state)
  }
}

const LOST: Ending = { how: "exited", code: -1, error: "the place it ran in cannot be reached any more" }

function ending(state: string): Ending {
  if (/^\d+$/.test(state)) return { how: "exited", code: Number(state) }
  return { how: "exited", code: -15, error: "it was ended from outside" }
}

async function poll({ transport, base, signal }: RemoteBackgroundOptions, known: number) {
  const answer = await askScript(
    transport,
    { script: POLL_SCRIPT, args: [base, String(known), String(MAX_BYTES_PER_POLL)] },
    { signal, timeoutMs: POLL_WITHIN_MS },
  )
  if (answer.kind === "unreachable") return undefined
  const headerEnd = answer.stdout.indexOf(10)
  const [length, , state = "lost"] = answer.stdout.subarray(0, headerEnd).toString("utf8").split(" ")
  return { length: Number(length), state, bytes: answer.stdout.subarray(headerEnd + 1) }
}
