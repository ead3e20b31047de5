import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { statSync } from "node:fs"
import { constants } from "node:os"

import { errorCode, explainSystemError } from "../base/system-error.ts"
import { BoundedOutput } from "./bounded-output.ts"
import { LiveOutput } from "./live-output.ts"
import { descendantsOf, isSameProcess } from "./process-tree.ts"
import type { ProcessMark } from "./process-tree.ts"
import type { CommandExit, RunOptions, RunningCommand } from "./workspace.ts"

/** How long a process group has to leave after SIGTERM before it is killed. */
const TERMINATION_GRACE_MS = 1000
/** A grandchild may keep the pipe open for ever; the shell's own end is what counts. */
const DRAIN_AFTER_EXIT_MS = 300
/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export interface LocalCommandOptions extends RunOptions {
  readonly cwd: string
  readonly shell: string
  readonly environment: Readonly<Record<string, string>>
}

export interface LocalCommand extends RunningCommand {
  /** Whether an ended command has left something running in its process group. */
  hasLeftovers(): boolean
  killLeftovers(): void
}

/** Runs one command in a new session, so that ending it ends everything it started. `exit` never rejects. */
export function runLocalCommand(command: string, options: LocalCommandOptions): LocalCommand {
  const kept = new BoundedOutput(options.keepChars)
  const live = new LiveOutput()
  const started = options.signal.aborted ? INTERRUPTED : start(command, options)
  if ("how" in started) {
    live.end()
    return {
      output: live,
      exit: Promise.resolve({ ...started, output: "", omittedChars: 0 }),
      hasLeftovers: () => false,
      killLeftovers: () => undefined,
    }
  }
  const exit = follow(started, options, (text) => {
    kept.push(text)
    live.push(text)
  }).then((how) => {
    live.end()
    return { ...how, output: kept.toString(), omittedChars: kept.omittedChars }
  })
  return {
    output: live,
    exit,
    hasLeftovers: () => signalGroup(started, 0),
    killLeftovers: () => {
      signalGroup(started, "SIGKILL")
    },
  }
}

type Ending = Pick<CommandExit, "how" | "code" | "error">

const INTERRUPTED: Ending = { how: "interrupted", code: 130 }

function start(command: string, options: LocalCommandOptions): ChildProcess | Ending {
  try {
    const child = spawn(options.shell, shellArguments(options.shell, command), {
      cwd: options.cwd,
      env: options.environment,
      detached: true,
      stdio: [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    })
    if (options.stdin !== undefined && child.stdin !== null) {
      child.stdin.on("error", ignoreClosedPipe)
      child.stdin.end(options.stdin)
    }
    return child
  } catch (error) {
    // Some failures are thrown instead of being told by the child's "error" event.
    return notStarted(error, command, options)
  }
}

/** Node's pipes are sockets, which bash takes for a remote login: it would read the person's ~/.bashrc first. */
function shellArguments(shell: string, command: string): string[] {
  return shell.endsWith("/bash") ? ["--norc", "-c", command] : ["-c", command]
}

function notStarted(error: unknown, command: string, options: LocalCommandOptions): Ending {
  return { how: "failed-to-start", code: -1, error: whyNotStarted(error, command, options) }
}

/** The system blames the shell for a missing working directory, so that is looked at first. */
function whyNotStarted(error: unknown, command: string, { cwd }: LocalCommandOptions): string {
  if (command.includes("\0")) return "the command contains a NUL character"
  if (errorCode(error) === "E2BIG")
    return `the command is too long (${Buffer.byteLength(command)} bytes); write it to a script file and run that`
  try {
    if (!statSync(cwd).isDirectory()) return `the working directory ${cwd} is not a directory`
  } catch (cause) {
    return `the working directory ${cwd} cannot be used: ${explainSystemError(cause)}`
  }
  return explainSystemError(error)
}

function follow(child: ChildProcess, options: LocalCommandOptions, onText: (text: string) => void): Promise<Ending> {
  const { promise, resolve } = Promise.withResolvers<Ending>()
  const flush = decodeInto(child, onText)
  const killer = createKiller(child)
  let forced: Ending | undefined
  let natural: Ending | undefined
  let draining: NodeJS.Timeout | undefined
  let settled = false

  const stop = (why: Ending): void => {
    forced ??= why
    killer.terminate()
  }
  const onAbort = (): void => {
    stop(INTERRUPTED)
  }
  const timeout = setTimeout(
    () => {
      stop({ how: "timed-out", code: 124 })
    },
    Math.min(options.timeoutMs, LONGEST_TIMER_MS),
  )
  const settle = (ending: Ending): void => {
    if (settled) return
    settled = true
    clearTimeout(timeout)
    clearTimeout(draining)
    options.signal.removeEventListener("abort", onAbort)
    // The shell is gone, but a time-out or an interrupt must leave no descendant either.
    killer.finish()
    child.stdout?.destroy()
    child.stderr?.destroy()
    flush()
    resolve(forced ?? ending)
  }
  options.signal.addEventListener("abort", onAbort, { once: true })
  child.once("error", (error) => {
    if (child.pid === undefined) settle(notStarted(error, child.spawnargs.at(-1) ?? "", options))
  })
  child.once("exit", (code, signal) => {
    const ending: Ending = { how: "exited", code: code ?? (signal === null ? -1 : 128 + constants.signals[signal]) }
    natural = ending
    draining = setTimeout(() => {
      settle(ending)
    }, DRAIN_AFTER_EXIT_MS)
  })
  child.once("close", () => {
    if (natural !== undefined) settle(natural)
  })
  return promise
}

/** Hands on both streams as text; the returned function gives out what an unfinished character left behind. */
function decodeInto(child: ChildProcess, onText: (text: string) => void): () => void {
  const decoders = [child.stdout, child.stderr].map((stream) => {
    const decoder = new TextDecoder("utf-8")
    stream?.on("data", (chunk: Buffer) => {
      onText(decoder.decode(chunk, { stream: true }))
    })
    stream?.on("error", ignoreClosedPipe)
    return decoder
  })
  return () => {
    for (const decoder of decoders) onText(decoder.decode())
  }
}

/** Ends a command with everything below it: politely first, then by force. */
function createKiller(child: ChildProcess) {
  let strays: readonly ProcessMark[] | undefined
  let timer: NodeJS.Timeout | undefined
  const signalAll = (signal: NodeJS.Signals): void => {
    signalGroup(child, signal)
    for (const stray of strays ?? []) if (isSameProcess(stray)) signalProcess(stray.pid, signal)
  }
  return {
    terminate: (): void => {
      if (strays !== undefined) return
      strays = child.pid === undefined ? [] : descendantsOf(child.pid)
      signalAll("SIGTERM")
      timer = setTimeout(() => {
        signalAll("SIGKILL")
      }, TERMINATION_GRACE_MS)
    },
    /** The command has ended; after `terminate` nothing of it may live on. */
    finish: (): void => {
      clearTimeout(timer)
      if (strays !== undefined) signalAll("SIGKILL")
    },
  }
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  return child.pid !== undefined && signalProcess(-child.pid, signal)
}

function signalProcess(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    // It has ended already, or belongs to somebody else now: nothing is left to signal.
    return false
  }
}

function ignoreClosedPipe(): void {
  // The command closed its end before reading or writing everything; its exit code tells the rest.
}
