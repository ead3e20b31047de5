import { spawn } from "node:child_process"
import { closeSync, openSync, statSync } from "node:fs"
import { constants } from "node:os"
import type { Readable } from "node:stream"

import { errorCode, explainSystemError } from "../../base/system-error.ts"
import { BoundedOutput } from "../bounded-output.ts"
import { LiveOutput } from "../live-output.ts"
import { CLOSED_DESCRIPTORS, splitOpenFile } from "../open-file-prefix.ts"
import { COMMAND_VARIABLE, createTreeKiller, newCommandId, signalGroup } from "../process-tree.ts"
import type { ExitStatus, RunningCommand, RunCommandOptions } from "../workspace.ts"
import type { OutputPipe } from "./named-pipe-pool.ts"
import type { HelperRequest } from "./helper-messages.ts"
import type { StartedChild } from "./spawn-helper.ts"

/** A grandchild may keep the pipe open forever, so reading stops this long after the shell itself has exited. */
export const DRAIN_AFTER_EXIT_MS = 300
/** After a kill no process holds the pipe, so the remaining output is available at once. */
const DRAIN_AFTER_KILL_MS = 50
/** An interrupt must settle within 100 ms, even when the command is slow to exit. */
const SETTLE_AFTER_INTERRUPT_MS = 50
/** Node fires a longer timer immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** How to start a shell on this machine. */
export interface LocalShell {
  readonly cwd: string
  readonly shell: string
  readonly environment: Readonly<Record<string, string>>
  /** Returns the script to run instead of the plain command. Receives the value for `COMMAND_VARIABLE`. */
  readonly script?: ((commandId: string) => string) | undefined
  /** Command line that starts the shell, for example a sandbox. */
  readonly prefix?: readonly string[] | undefined
  /** Supplies a pipe for stdout. Without one, stdout is a socket, which the command cannot open by name. */
  readonly takePipe?: (() => OutputPipe | undefined) | undefined
  /** Starts a process with an open stdin elsewhere, without blocking this process. Undefined when it cannot. */
  readonly startInHelper?: ((request: HelperRequest) => StartedProcess | undefined) | undefined
}

/** A process and the stream to read its stdout from. */
export interface StartedProcess {
  readonly child: StartedChild
  readonly output: Readable | null
}

/** A shell that was started in advance and waits for its script. Runs one command only. */
export interface PrewarmedShell extends StartedProcess {
  /** The value of `COMMAND_VARIABLE` for its command. */
  readonly commandId: string
  /** Resolves when it can run its command, or never will. */
  readonly started: Promise<void>
  /** Whether it waits for its command, or is about to. */
  isAlive(): boolean
  run(script: string, stdin: string | undefined): void
  /** False after the shell has exited means that it died before it received the whole script and that nothing of it ran. */
  hasStarted(): boolean
  /** Returns the command's own output. Must be called with every chunk of the shell's stdout, in order. */
  stripStartMarker(chunk: Buffer): Buffer
  /** Kills an unused shell. */
  discard(): void
}

/** Runs a command in a prewarmed shell instead of a new one. */
export interface PrewarmedRun {
  readonly shell: PrewarmedShell
  readonly script: (commandId: string) => string
}

interface LocalRun extends Omit<RunCommandOptions, "cwd">, LocalShell {
  readonly prewarmed?: PrewarmedRun | undefined
}

export interface LocalCommand extends RunningCommand {
  /** Leads the process group of the command; undefined when it could not be started. */
  readonly pid: number | undefined
  /** Resolves when the command has really exited: after an interrupt `exit` does not wait for a command that ignores SIGTERM. */
  readonly terminated: Promise<void>
  /** Whether processes remain in the group of a command that has exited. */
  hasLeftovers(): boolean
  killLeftovers(): void
}

/** Runs one command in a new session, so that killing it kills everything it started. `exit` never rejects. */
export function runLocalCommand(command: string, options: LocalRun): LocalCommand {
  const kept = new BoundedOutput(options.keepChars)
  const live = new LiveOutput()
  const started = options.signal.aborted ? INTERRUPTED : start(command, options)
  if ("how" in started) {
    live.end()
    return {
      pid: undefined,
      output: live,
      exit: Promise.resolve({ ...started, output: "", omittedChars: 0 }),
      terminated: Promise.resolve(),
      hasLeftovers: () => false,
      killLeftovers: () => undefined,
    }
  }
  const { child, commandId } = started
  const { pid } = child
  const killer = createTreeKiller(pid, commandId)
  const watched = watchExit(started, { ...options, command, killer }, (text) => {
    kept.push(text)
    live.push(text)
  })
  return {
    pid,
    output: live,
    exit: watched.exit.then((how) => {
      live.end()
      return { ...how, output: kept.toString(), omittedChars: kept.omittedChars }
    }),
    terminated: watched.terminated,
    hasLeftovers: () => pid !== undefined && signalGroup(pid, 0),
    killLeftovers: () => {
      if (child.exitCode === null && child.signalCode === null) killer.kill()
      else if (pid !== undefined) signalGroup(pid, "SIGKILL")
    },
  }
}

const INTERRUPTED: ExitStatus = { how: "interrupted", code: 130 }

/** Returns program, arguments and environment of a shell that runs the command, and the id that identifies its processes. */
export function shellInvocation(command: string, options: LocalShell, commandId = newCommandId()) {
  const script = options.script?.(commandId) ?? command
  const commandLine = [...(options.prefix ?? []), options.shell, ...shellArguments(options.shell, script)]
  return {
    commandId,
    program: commandLine[0] ?? options.shell,
    args: commandLine.slice(1),
    environment: { ...options.environment, [COMMAND_VARIABLE]: commandId },
  }
}

/** Node's pipes are sockets, which bash takes for a remote login: without `--norc` it would source ~/.bashrc. */
function shellArguments(shell: string, script: string): string[] {
  return shell.endsWith("/bash") ? ["--noprofile", "--norc", "-c", script] : ["-c", script]
}

function start(command: string, options: LocalRun): (StartedProcess & { readonly commandId: string }) | ExitStatus {
  if (options.prewarmed !== undefined) {
    const { shell, script } = options.prewarmed
    shell.run(script(shell.commandId), options.stdin)
    return shell
  }
  try {
    const invocation = shellInvocation(command, options)
    const { child, output } = startProcess(invocation, {
      ...options,
      stdin: options.stdin === undefined ? "ignore" : "pipe",
    })
    if (options.stdin !== undefined && child.stdin !== null) {
      child.stdin.on("error", ignoreClosedPipe)
      child.stdin.end(options.stdin)
    }
    return { child, output, commandId: invocation.commandId }
  } catch (error) {
    // Node throws some failures instead of emitting "error".
    return startFailure(error, command, options)
  }
}

/** Starts a process in a new session, so that killing its group kills everything it started. Throws when Node refuses to spawn it. */
export function startProcess(
  { program, args, environment }: ReturnType<typeof shellInvocation>,
  { cwd, stdin, takePipe }: Pick<LocalShell, "cwd" | "takePipe"> & { readonly stdin: "ignore" | "pipe" },
): StartedProcess {
  const pipe = takePipe?.()
  const { openFile, commandLine } = splitOpenFile([program, ...args])
  let opened: number | undefined
  try {
    if (openFile !== undefined) opened = openSync(openFile, "r")
    const stdio = [
      stdin,
      pipe?.writeEnd ?? "pipe",
      "pipe",
      ...(opened === undefined ? [] : [...CLOSED_DESCRIPTORS, opened]),
    ] as const
    const [first = program, ...rest] = commandLine
    const child = spawn(first, rest, { cwd, env: environment, detached: true, stdio: [...stdio] })
    return { child, output: pipe?.output ?? child.stdout }
  } catch (error) {
    pipe?.output.destroy()
    throw error
  } finally {
    if (opened !== undefined) closeSync(opened)
    // While Hermes holds the write end, it would never see the end of the output.
    if (pipe !== undefined) closeSync(pipe.writeEnd)
  }
}

/** Calls back once the process has exited and all its output has been read. */
export function onClosed({ child, output }: StartedProcess, done: () => void): void {
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

export function startFailure(error: unknown, command: string, { cwd }: Pick<LocalShell, "cwd">): ExitStatus {
  return { how: "failed-to-start", code: -1, error: whyNotStarted(error, command, cwd) }
}

/** Checks the working directory before the error: the system reports a missing one as a missing shell. */
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

interface WatchOptions extends LocalRun {
  readonly command: string
  readonly killer: ReturnType<typeof createTreeKiller>
}

function watchExit(started: StartedProcess, options: WatchOptions, onText: (text: string) => void) {
  const { killer } = options
  const { child, output } = started
  const exit = Promise.withResolvers<ExitStatus>()
  const terminated = Promise.withResolvers<undefined>()
  const flush = decodeOutput(started, onText, options.prewarmed?.shell)
  let forced: ExitStatus | undefined
  let natural: ExitStatus | undefined
  let settleTimer: NodeJS.Timeout | undefined

  const settle = (ending: ExitStatus): void => {
    clearTimeout(timeout)
    clearTimeout(settleTimer)
    options.signal.removeEventListener("abort", onAbort)
    output?.destroy()
    child.stderr?.destroy()
    flush()
    exit.resolve(forced ?? ending)
  }
  const end = (ending: ExitStatus): void => {
    // The shell is gone, but after a timeout or an interrupt its descendants must go too.
    killer.finish()
    settle(ending)
    terminated.resolve(undefined)
  }
  const stop = (why: ExitStatus): void => {
    forced ??= why
    killer.terminate()
  }
  const onAbort = (): void => {
    stop(INTERRUPTED)
    settleTimer ??= setTimeout(settle, SETTLE_AFTER_INTERRUPT_MS, INTERRUPTED)
  }
  const timeout = setTimeout(stop, Math.min(options.timeoutMs, MAX_TIMER_MS), { how: "timed-out", code: 124 })
  options.signal.addEventListener("abort", onAbort, { once: true })
  child.once("error", (error) => {
    if (child.pid === undefined) end(startFailure(error, options.command, options))
  })
  child.once("exit", (code, signal) => {
    const ending: ExitStatus = { how: "exited", code: exitCode(code, signal) }
    natural = ending
    killer.finish()
    clearTimeout(settleTimer)
    settleTimer = setTimeout(end, forced === undefined ? DRAIN_AFTER_EXIT_MS : DRAIN_AFTER_KILL_MS, ending)
  })
  onClosed(started, () => {
    if (natural !== undefined) end(natural)
  })
  return { exit: exit.promise, terminated: terminated.promise }
}

export function exitCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? (signal === null ? -1 : 128 + constants.signals[signal])
}

/** Decodes both streams as UTF-8. The returned function flushes an incomplete character at the end. */
export function decodeOutput(
  { child, output }: StartedProcess,
  onText: (text: string) => void,
  prewarmed?: Pick<PrewarmedShell, "stripStartMarker">,
): () => void {
  const decoders = [output, child.stderr].map((stream) => {
    const decoder = new TextDecoder("utf-8")
    stream?.on("data", (chunk: Buffer) => {
      const own = prewarmed === undefined || stream === child.stderr ? chunk : prewarmed.stripStartMarker(chunk)
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
  // The command closed its end before everything was transferred; its exit code reports the outcome.
}
