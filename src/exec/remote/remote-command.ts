import { setTimeout as delay } from "node:timers/promises"

import { BoundedOutput } from "../bounded-output.ts"
import { createCwdMarkerFilter } from "../cwd-marker.ts"
import { LiveOutput } from "../live-output.ts"
import { spawnProgram } from "../run-program.ts"
import type { CommandExit, RunningCommand } from "../workspace.ts"
import { killRemoteCommand } from "./kill-remote.ts"
import { RUN_SCRIPT } from "./process-scripts.ts"
import { createMarkerReader } from "./run-markers.ts"
import type { RunMarker } from "./run-markers.ts"
import { INLINE_INPUT_BYTES, withInlineInput } from "./transport.ts"
import type { Transport, TransportFailure } from "./transport.ts"

export interface RemoteCommandOptions {
  readonly transport: Transport
  /** Value of `COMMAND_VARIABLE` for all processes of the command. Letters, digits and dots only. */
  readonly tag: string
  readonly commandLine: readonly string[]
  readonly cwd: string
  /** Falls back to the nearest existing ancestor when the directory does not exist. */
  readonly orNearest: boolean
  readonly stateDirectory: string
  readonly stdin?: string | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly keepChars: number
  /** The text that the command prints around its final directory; removed from the output. */
  readonly cwdMarker?: string | undefined
}

export interface RemoteCommand extends RunningCommand {
  /** Resolves when the command has really exited: after an interrupt `exit` does not wait for a command that ignores SIGTERM. */
  readonly terminated: Promise<void>
  /** The command's final directory, if it printed one. Available after `exit`. */
  lastDirectory(): string | undefined
}

/** Runs one command in a remote workspace. `exit` never rejects. A timeout or an interrupt kills all processes of the command. */
export function runRemoteCommand(options: RemoteCommandOptions): RemoteCommand {
  const kept = new BoundedOutput(options.keepChars)
  const live = new LiveOutput()
  const filter = createCwdMarkerFilter(options.cwdMarker ?? "")
  const show = (text: string): void => {
    kept.push(text)
    live.push(text)
  }
  const onText = (text: string): void => {
    show(options.cwdMarker === undefined ? text : filter.push(text))
  }
  const termination = Promise.withResolvers<void>()
  const exit = runWithRetry(options, onText).then(({ outcome, terminated }): CommandExit => {
    termination.resolve(terminated)
    show(filter.end())
    live.end()
    return { ...outcome, output: kept.toString(), omittedChars: kept.omittedChars }
  })
  return { output: live, exit, terminated: termination.promise, lastDirectory: () => filter.cwd() }
}

type Outcome = Omit<CommandExit, "output" | "omittedChars">

interface Attempt {
  readonly outcome: Outcome
  /** Set when the command never started because of the connection. */
  readonly failure?: TransportFailure
  /** Resolves when all processes of the command are gone. */
  readonly terminated: Promise<void>
}

const INTERRUPTED: Outcome = { how: "interrupted", code: 130 }
/** An interrupt must settle within 100 ms, even over a slow connection. */
const SETTLE_AFTER_INTERRUPT_MS = 80
/** Node fires a longer timer immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Retries a command that never started, once, if the workspace can be reopened. */
async function runWithRetry(options: RemoteCommandOptions, onText: (text: string) => void): Promise<Attempt> {
  if (options.commandLine.some((word) => word.includes("\0"))) {
    return settled({ how: "failed-to-start", code: -1, error: "the command contains a NUL character" })
  }
  if (!options.transport.pipesInput && Buffer.byteLength(options.stdin ?? "") > INLINE_INPUT_BYTES) {
    const limit = `at most ${INLINE_INPUT_BYTES / 1024} KB of input can be passed to a command in this workspace`
    return settled({ how: "failed-to-start", code: -1, error: `${limit}; write it to a file and read that` })
  }
  const first = await attempt(options, onText)
  if (first.failure === undefined) return first
  const reopened = await options.transport.reopen?.(first.failure, options.signal)
  if (reopened === undefined) return first
  return reopened.ok ? await attempt(options, onText) : settled(unreachable(reopened.error))
}

function settled(outcome: Outcome): Attempt {
  return { outcome, terminated: Promise.resolve() }
}

function unreachable(error: string): Outcome {
  return { how: "failed-to-start", code: -1, error, unreachable: true }
}

async function attempt(options: RemoteCommandOptions, onText: (text: string) => void): Promise<Attempt> {
  if (options.signal.aborted) return settled(INTERRUPTED)
  const { promise, resolve } = Promise.withResolvers<Attempt>()
  let pid: number | undefined
  let cwdNote: { readonly cwdNote?: string } = {}
  let isKilled = false
  const onMarker = (marker: RunMarker): void => {
    if (marker.kind === "started") pid = marker.pid
    else if (marker.kind === "moved") cwdNote = { cwdNote: movedNote(options.cwd, marker.to) }
    else if (marker.kind === "no-directory") resolve(settled(noDirectory(options.cwd, marker.why)))
    else if (!isKilled) resolve(settled({ how: "exited", code: marker.code, ...cwdNote }))
  }
  const client = startClient(options, { onText, onMarker })
  const clientExited = client.exit.then((failure) => {
    if (isKilled) return
    if (pid === undefined) resolve({ ...settled(neverStarted(options, failure)), failure })
    else resolve(settled(lost(options.transport.explain(failure))))
  })
  const kill = (outcome: Outcome): void => {
    if (isKilled) return
    isKilled = true
    const killed = killRemoteCommand(options.transport, { tag: options.tag, pid })
    const terminated = killed.then(() => {
      client.kill()
    })
    const settling =
      outcome.how === "interrupted" ? Promise.race([killed, delay(SETTLE_AFTER_INTERRUPT_MS, true)]) : killed
    resolve(
      settling.then((reached) => ({
        outcome: reached ? outcome : { ...outcome, error: STILL_RUNNING },
        terminated,
      })),
    )
  }
  const onAbort = (): void => {
    kill(INTERRUPTED)
  }
  const timer = setTimeout(
    () => {
      kill({ how: "timed-out", code: 124 })
    },
    Math.min(options.timeoutMs, MAX_TIMER_MS),
  )
  options.signal.addEventListener("abort", onAbort, { once: true })
  const result = await promise
  clearTimeout(timer)
  options.signal.removeEventListener("abort", onAbort)
  if (!isKilled) client.killAfterGrace()
  return { ...result, terminated: Promise.all([result.terminated, clientExited]).then(() => undefined) }
}

const STILL_RUNNING = "the workspace could not be reached to kill the command, so it may still be running"

function startClient(
  options: RemoteCommandOptions,
  on: { readonly onText: (text: string) => void; readonly onMarker: (marker: RunMarker) => void },
) {
  const { transport, stdin } = options
  const inline = stdin !== undefined && !transport.pipesInput
  const script = inline ? withInlineInput(RUN_SCRIPT, Buffer.from(stdin)) : RUN_SCRIPT
  const decoder = new TextDecoder("utf-8")
  const read = createMarkerReader(options.tag, { text: on.onText, marker: on.onMarker })
  const fallback = options.orNearest ? "nearest" : "none"
  return spawnProgram(
    transport.commandLine(script, [options.tag, options.cwd, options.stateDirectory, fallback, ...options.commandLine]),
    {
      environment: transport.environment,
      stdin: inline ? undefined : stdin,
      onOutput: (chunk) => {
        read(decoder.decode(chunk, { stream: true }))
      },
    },
  )
}

function neverStarted({ transport, commandLine }: RemoteCommandOptions, failure: TransportFailure): Outcome {
  const bytes = commandLine.reduce((sum, word) => sum + Buffer.byteLength(word), 0)
  if (failure.notStarted !== undefined && bytes > LONG_COMMAND_BYTES) {
    const error = `the command is too long (${bytes} bytes); write it to a script file and run that`
    return { how: "failed-to-start", code: -1, error }
  }
  return unreachable(transport.explain(failure))
}

/** Linux allows 128 KB in one argument, and quoting makes a command longer. */
const LONG_COMMAND_BYTES = 32 * 1024

function lost(reason: string): Outcome {
  return {
    how: "exited",
    code: -1,
    error: `the connection was lost while the command ran: ${reason}. It may have done part of its work or still be running; check before you run it again`,
  }
}

function movedNote(from: string, to: string): string {
  return `The working directory ${from} no longer exists; the command ran in ${to}.`
}

function noDirectory(cwd: string, why: "missing" | "not-a-directory" | "denied"): Outcome {
  const reason = why === "missing" ? "no such file or directory" : "permission denied"
  const error =
    why === "not-a-directory"
      ? `the working directory ${cwd} is not a directory`
      : `the working directory ${cwd} cannot be used: ${reason}`
  return { how: "failed-to-start", code: -1, error }
}
