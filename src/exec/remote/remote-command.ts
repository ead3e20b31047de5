import { setTimeout as delay } from "node:timers/promises"

import { BoundedOutput } from "../bounded-output.ts"
import { LiveOutput } from "../live-output.ts"
import { createMarkerFilter } from "../shell-state-marker.ts"
import type { CommandExit, RunningCommand } from "../workspace.ts"
import { spawnClient } from "./client-process.ts"
import { endRemotely } from "./end-remotely.ts"
import { RUN_SCRIPT } from "./process-scripts.ts"
import { createMarkReader } from "./run-marks.ts"
import type { RunMark } from "./run-marks.ts"
import { INLINE_INPUT_BYTES, withInlineInput } from "./transport.ts"
import type { Transport, TransportFailure } from "./transport.ts"

export interface RemoteCommandOptions {
  readonly transport: Transport
  /** In the environment of everything the command starts; of letters, digits and dots. */
  readonly tag: string
  readonly commandLine: readonly string[]
  readonly cwd: string
  /** Where that directory is gone, the nearest one above will do. */
  readonly orNearest: boolean
  readonly stateDirectory: string
  readonly stdin?: string | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly keepChars: number
  /** What the command prints around its last directory; taken out of the output. */
  readonly cwdMarker?: string | undefined
}

export interface RemoteCommand extends RunningCommand {
  /** Resolves when the command itself is gone: after an interrupt `exit` does not wait for one that ignores it. */
  readonly gone: Promise<void>
  /** The directory it ended in, when it said so; to be asked after `exit`. */
  lastDirectory(): string | undefined
}

/** Runs one command in another place. `exit` never rejects; after a time-out or an interrupt nothing of the command lives on. */
export function runRemoteCommand(options: RemoteCommandOptions): RemoteCommand {
  const kept = new BoundedOutput(options.keepChars)
  const live = new LiveOutput()
  const filter = createMarkerFilter(options.cwdMarker ?? "")
  const show = (text: string): void => {
    kept.push(text)
    live.push(text)
  }
  const onText = (text: string): void => {
    show(options.cwdMarker === undefined ? text : filter.push(text))
  }
  const gone = Promise.withResolvers<void>()
  const exit = runWithOneMoreTry(options, onText).then(({ ending, ended }): CommandExit => {
    gone.resolve(ended)
    show(filter.end())
    live.end()
    return { ...ending, output: kept.toString(), omittedChars: kept.omittedChars }
  })
  return { output: live, exit, gone: gone.promise, lastDirectory: () => filter.cwd() }
}

type Ending = Omit<CommandExit, "output" | "omittedChars">

interface Attempt {
  readonly ending: Ending
  /** The command never began, for a reason that lies on the way there. */
  readonly failure?: TransportFailure
  /** Resolves when nothing of the command lives any more. */
  readonly ended: Promise<void>
}

const INTERRUPTED: Ending = { how: "interrupted", code: 130 }
/** Whoever interrupts gets an answer within 100 ms, also from a place that is far away. */
const ANSWER_AFTER_INTERRUPT_MS = 80
/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** A command that was never started can be tried again when the place could be brought back. */
async function runWithOneMoreTry(options: RemoteCommandOptions, onText: (text: string) => void): Promise<Attempt> {
  if (options.commandLine.some((word) => word.includes("\0"))) {
    return settled({ how: "failed-to-start", code: -1, error: "the command contains a NUL character" })
  }
  if (!options.transport.pipesInput && Buffer.byteLength(options.stdin ?? "") > INLINE_INPUT_BYTES) {
    const most = `at most ${INLINE_INPUT_BYTES / 1024} KB of input can be passed to a command here`
    return settled({ how: "failed-to-start", code: -1, error: `${most}; write it to a file and read that` })
  }
  const first = await attempt(options, onText)
  if (first.failure === undefined) return first
  const reopened = await options.transport.reopen?.(first.failure, options.signal)
  if (reopened === undefined) return first
  return reopened.ok ? await attempt(options, onText) : settled(unreachable(reopened.error))
}

function settled(ending: Ending): Attempt {
  return { ending, ended: Promise.resolve() }
}

function unreachable(error: string): Ending {
  return { how: "failed-to-start", code: -1, error, unreachable: true }
}

async function attempt(options: RemoteCommandOptions, onText: (text: string) => void): Promise<Attempt> {
  if (options.signal.aborted) return settled(INTERRUPTED)
  const { promise, resolve } = Promise.withResolvers<Attempt>()
  let pid: number | undefined
  let cwdNote: { readonly cwdNote?: string } = {}
  let isForced = false
  const onMark = (mark: RunMark): void => {
    if (mark.kind === "started") pid = mark.pid
    else if (mark.kind === "moved") cwdNote = { cwdNote: movedNote(options.cwd, mark.to) }
    else if (mark.kind === "no-directory") resolve(settled(noDirectory(options.cwd, mark.why)))
    else if (!isForced) resolve(settled({ how: "exited", code: mark.code, ...cwdNote }))
  }
  const client = startClient(options, { onText, onMark })
  const left = client.exit.then((failure) => {
    if (isForced) return
    if (pid === undefined) resolve({ ...settled(neverStarted(options, failure)), failure })
    else resolve(settled(lost(options.transport.explain(failure))))
  })
  const stop = (ending: Ending): void => {
    if (isForced) return
    isForced = true
    const killed = endRemotely(options.transport, { tag: options.tag, pid })
    const ended = killed.then(() => {
      client.kill()
    })
    const answered =
      ending.how === "interrupted" ? Promise.race([killed, delay(ANSWER_AFTER_INTERRUPT_MS, true)]) : killed
    resolve(answered.then((done) => ({ ending: done ? ending : { ...ending, error: STILL_RUNNING }, ended })))
  }
  const onAbort = (): void => {
    stop(INTERRUPTED)
  }
  const timer = setTimeout(
    () => {
      stop({ how: "timed-out", code: 124 })
    },
    Math.min(options.timeoutMs, LONGEST_TIMER_MS),
  )
  options.signal.addEventListener("abort", onAbort, { once: true })
  const result = await promise
  clearTimeout(timer)
  options.signal.removeEventListener("abort", onAbort)
  if (!isForced) client.letGo()
  return { ...result, ended: Promise.all([result.ended, left]).then(() => undefined) }
}

const STILL_RUNNING = "the command could not be reached to end it and may still be running"

function startClient(
  options: RemoteCommandOptions,
  on: { readonly onText: (text: string) => void; readonly onMark: (mark: RunMark) => void },
) {
  const { transport, stdin } = options
  const inline = stdin !== undefined && !transport.pipesInput
  const script = inline ? withInlineInput(RUN_SCRIPT, Buffer.from(stdin)) : RUN_SCRIPT
  const decoder = new TextDecoder("utf-8")
  const read = createMarkReader(options.tag, { text: on.onText, mark: on.onMark })
  const how = options.orNearest ? "nearest" : "exact"
  return spawnClient(
    transport.commandLine(script, [options.tag, options.cwd, options.stateDirectory, how, ...options.commandLine]),
    {
      environment: transport.environment,
      stdin: inline ? undefined : stdin,
      onOutput: (chunk) => {
        read(decoder.decode(chunk, { stream: true }))
      },
    },
  )
}

function neverStarted({ transport, commandLine }: RemoteCommandOptions, failure: TransportFailure): Ending {
  const bytes = commandLine.reduce((sum, word) => sum + Buffer.byteLength(word), 0)
  if (failure.notStarted !== undefined && bytes > LONG_COMMAND_BYTES) {
    const error = `the command is too long (${bytes} bytes); write it to a script file and run that`
    return { how: "failed-to-start", code: -1, error }
  }
  return unreachable(transport.explain(failure))
}

/** The system takes up to 128 KB in one argument; quoting makes a command longer. */
const LONG_COMMAND_BYTES = 32 * 1024

function lost(reason: string): Ending {
  return {
    how: "exited",
    code: -1,
    error: `the connection was lost while the command ran: ${reason}. It may have done part of its work or still be running; look before you run it again`,
  }
}

function movedNote(from: string, to: string): string {
  return `The working directory ${from} does not exist any more; the command ran in ${to}.`
}

function noDirectory(cwd: string, why: "missing" | "not-a-directory" | "denied"): Ending {
  const reason = why === "missing" ? "no such file or directory" : "permission denied"
  const error =
    why === "not-a-directory"
      ? `the working directory ${cwd} is not a directory`
      : `the working directory ${cwd} cannot be used: ${reason}`
  return { how: "failed-to-start", code: -1, error }
}
