import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { closeSync, statSync } from "node:fs"
import { constants } from "node:os"
import type { Readable } from "node:stream"

import { randomHex } from "../../base/random-and-hash.ts"
import { errorCode, explainSystemError } from "../../base/system-error.ts"
import { BoundedOutput } from "../bounded-output.ts"
import { LiveOutput } from "../live-output.ts"
import type { OutputPipe } from "./pipe-supply.ts"
import { COMMAND_VARIABLE, createTreeKiller, signalGroup } from "../process-tree.ts"
import type { CommandExit, RunOptions, RunningCommand } from "../workspace.ts"

/** A grandchild may keep the pipe open for ever; the shell's own end is what counts. */
export const DRAIN_AFTER_EXIT_MS = 300
/** Nobody is left who could hold the pipe; what was said is read within moments. */
const DRAIN_AFTER_KILL_MS = 50
/** Whoever interrupts gets an answer within 100 ms, also from a command that takes its time to leave. */
const ANSWER_AFTER_INTERRUPT_MS = 50
/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** What a shell of this machine is started with. */
export interface LocalShell {
  readonly cwd: string
  readonly shell: string
  readonly environment: Readonly<Record<string, string>>
  /** What the shell runs, made from the command: given the id that the command must carry in `COMMAND_VARIABLE`. */
  readonly script?: ((commandId: string) => string) | undefined
  /** A program that the shell is started by, with its arguments: a sandbox. */
  readonly prefix?: readonly string[] | undefined
  /** What the command writes its output into; without it, or when there is none, a socket that it cannot open by name. */
  readonly takePipe?: (() => OutputPipe | undefined) | undefined
}

/** A process with where its standard output is read. */
export interface StartedProcess {
  readonly child: ChildProcess
  readonly output: Readable | null
}

/** A shell that was started ahead and waits for its script. Each is good for one command. */
export interface WaitingShell extends StartedProcess {
  /** What its command carries in `COMMAND_VARIABLE`. */
  readonly commandId: string
  isWaiting(): boolean
  begin(script: string, stdin: string | undefined): void
  /** False after its end: it died before it had the whole script, and nothing of that was run. */
  hasBegun(): boolean
  /** What the command itself printed: to be given everything from the shell's standard output, in order. */
  withoutMark(chunk: Buffer): Buffer
  /** Kills one that nobody needs. */
  discard(): void
}

/** The shell that a command is given to instead of a new one, and what it is told to prepare and to run. */
export interface Handover {
  readonly waiting: WaitingShell
  readonly script: (commandId: string) => string
}

interface LocalRun extends Omit<RunOptions, "cwd">, LocalShell {
  readonly handover?: Handover | undefined
}

export interface LocalCommand extends RunningCommand {
  /** Resolves when the command itself is gone: after an interrupt `exit` does not wait for one that ignores it. */
  readonly gone: Promise<void>
  /** Whether an ended command has left something running in its process group. */
  hasLeftovers(): boolean
  killLeftovers(): void
}

/** Runs one command in a new session, so that ending it ends everything it started. `exit` never rejects. */
export function runLocalCommand(command: string, options: LocalRun): LocalCommand {
  const kept = new BoundedOutput(options.keepChars)
  const live = new LiveOutput()
  const started = options.signal.aborted ? INTERRUPTED : start(command, options)
  if ("how" in started) {
    live.end()
    return {
      output: live,
      exit: Promise.resolve({ ...started, output: "", omittedChars: 0 }),
      gone: Promise.resolve(),
      hasLeftovers: () => false,
      killLeftovers: () => undefined,
    }
  }
  const { child, commandId } = started
  const { pid } = child
  const killer = createTreeKiller(pid, commandId)
  const followed = follow(started, { ...options, command, killer }, (text) => {
    kept.push(text)
    live.push(text)
  })
  return {
    output: live,
    exit: followed.exit.then((how) => {
      live.end()
      return { ...how, output: kept.toString(), omittedChars: kept.omittedChars }
    }),
    gone: followed.gone,
    hasLeftovers: () => pid !== undefined && signalGroup(pid, 0),
    killLeftovers: () => {
      if (child.exitCode === null && child.signalCode === null) killer.kill()
      else if (pid !== undefined) signalGroup(pid, "SIGKILL")
    },
  }
}

export type Ending = Pick<CommandExit, "how" | "code" | "error">

const INTERRUPTED: Ending = { how: "interrupted", code: 130 }

/** Program, arguments and environment of a shell that runs the command, and the id that finds its processes. */
export function shellCall(command: string, options: LocalShell) {
  const commandId = randomHex(8)
  const script = options.script?.(commandId) ?? command
  const call = [...(options.prefix ?? []), options.shell, ...shellArguments(options.shell, script)]
  return {
    commandId,
    program: call[0] ?? options.shell,
    args: call.slice(1),
    environment: { ...options.environment, [COMMAND_VARIABLE]: commandId },
  }
}

/** Node's pipes are sockets, which bash takes for a remote login: it would read the person's ~/.bashrc first. */
function shellArguments(shell: string, script: string): string[] {
  return shell.endsWith("/bash") ? ["--noprofile", "--norc", "-c", script] : ["-c", script]
}

function start(command: string, options: LocalRun): (StartedProcess & { readonly commandId: string }) | Ending {
  if (options.handover !== undefined) {
    const { waiting, script } = options.handover
    waiting.begin(script(waiting.commandId), options.stdin)
    return waiting
  }
  try {
    const call = shellCall(command, options)
    const { child, output } = startProcess(call, { ...options, stdin: options.stdin === undefined ? "ignore" : "pipe" })
    if (options.stdin !== undefined && child.stdin !== null) {
      child.stdin.on("error", ignoreClosedPipe)
      child.stdin.end(options.stdin)
    }
    return { child, output, commandId: call.commandId }
  } catch (error) {
    // Some failures are thrown instead of being told by the child's "error" event.
    return notStarted(error, command, options)
  }
}

/** In a session of its own, so that ending it ends everything it started. Throws what the system says at once. */
export function startProcess(
  { program, args, environment }: ReturnType<typeof shellCall>,
  { cwd, stdin, takePipe }: Pick<LocalShell, "cwd" | "takePipe"> & { readonly stdin: "ignore" | "pipe" },
): StartedProcess {
  const pipe = takePipe?.()
  try {
    const stdio = [stdin, pipe?.writeEnd ?? "pipe", "pipe"] as const
    const child = spawn(program, args, { cwd, env: environment, detached: true, stdio: [...stdio] })
    return { child, output: pipe?.output ?? child.stdout }
  } catch (error) {
    pipe?.output.destroy()
    throw error
  } finally {
    // Only the command may hold it, or its end would not be seen.
    if (pipe !== undefined) closeSync(pipe.writeEnd)
  }
}

/** Calls back once the process has ended and everything it said was read. */
export function onceClosed({ child, output }: StartedProcess, done: () => void): void {
  let isOpen = output !== null && output !== child.stdout && !output.closed
  let hasEnded = false
  const closed = (): void => {
    if (hasEnded && !isOpen) done()
  }
  child.once("close", () => {
    hasEnded = true
    closed()
  })
  if (!isOpen) return
  output?.once("close", () => {
    isOpen = false
    closed()
  })
}

export function notStarted(error: unknown, command: string, place: Pick<LocalShell, "cwd">): Ending {
  return { how: "failed-to-start", code: -1, error: whyNotStarted(error, command, place.cwd) }
}

/** The system blames the shell for a missing working directory, so that is looked at first. */
function whyNotStarted(error: unknown, command: string, cwd: string): string {
  if (command.includes("\0")) return "the command contains a NUL character"
  if (errorCode(error) === "E2BIG")
    return `the command is too long (${Buffer.byteLength(command)} bytes); write it to a script file and run that`
  return unusableDirectory(cwd) ?? explainSystemError(error)
}

export function unusableDirectory(cwd: string): string | undefined {
  try {
    return statSync(cwd).isDirectory() ? undefined : `the working directory ${cwd} is not a directory`
  } catch (cause) {
    return `the working directory ${cwd} cannot be used: ${explainSystemError(cause)}`
  }
}

interface Following extends LocalRun {
  readonly command: string
  readonly killer: ReturnType<typeof createTreeKiller>
}

function follow(started: StartedProcess, options: Following, onText: (text: string) => void) {
  const { killer } = options
  const { child, output } = started
  const exit = Promise.withResolvers<Ending>()
  const gone = Promise.withResolvers<undefined>()
  const flush = decodeInto(started, onText, options.handover?.waiting)
  let forced: Ending | undefined
  let natural: Ending | undefined
  let waiting: NodeJS.Timeout | undefined

  const settle = (ending: Ending): void => {
    clearTimeout(timeout)
    clearTimeout(waiting)
    options.signal.removeEventListener("abort", onAbort)
    output?.destroy()
    child.stderr?.destroy()
    flush()
    exit.resolve(forced ?? ending)
  }
  const end = (ending: Ending): void => {
    // The shell is gone, but a time-out or an interrupt must leave no descendant either.
    killer.finish()
    settle(ending)
    gone.resolve(undefined)
  }
  const stop = (why: Ending): void => {
    forced ??= why
    killer.terminate()
  }
  const onAbort = (): void => {
    stop(INTERRUPTED)
    waiting ??= setTimeout(settle, ANSWER_AFTER_INTERRUPT_MS, INTERRUPTED)
  }
  const timeout = setTimeout(stop, Math.min(options.timeoutMs, LONGEST_TIMER_MS), { how: "timed-out", code: 124 })
  options.signal.addEventListener("abort", onAbort, { once: true })
  child.once("error", (error) => {
    if (child.pid === undefined) end(notStarted(error, options.command, options))
  })
  child.once("exit", (code, signal) => {
    const ending: Ending = { how: "exited", code: exitCode(code, signal) }
    natural = ending
    killer.finish()
    clearTimeout(waiting)
    waiting = setTimeout(end, forced === undefined ? DRAIN_AFTER_EXIT_MS : DRAIN_AFTER_KILL_MS, ending)
  })
  onceClosed(started, () => {
    if (natural !== undefined) end(natural)
  })
  return { exit: exit.promise, gone: gone.promise }
}

export function exitCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? (signal === null ? -1 : 128 + constants.signals[signal])
}

/** Hands on both streams as text; the returned function gives out what an unfinished character left behind. */
export function decodeInto(
  { child, output }: StartedProcess,
  onText: (text: string) => void,
  waiting?: Pick<WaitingShell, "withoutMark">,
): () => void {
  const decoders = [output, child.stderr].map((stream) => {
    const decoder = new TextDecoder("utf-8")
    stream?.on("data", (chunk: Buffer) => {
      const own = waiting === undefined || stream === child.stderr ? chunk : waiting.withoutMark(chunk)
      onText(decoder.decode(own, { stream: true }))
    })
    stream?.on("error", ignoreClosedPipe)
    return decoder
  })
  return () => {
    for (const decoder of decoders) onText(decoder.decode())
  }
}

export function ignoreClosedPipe(): void {
  // The command closed its end before reading or writing everything; its exit code tells the rest.
}
