import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"

import { errorCode } from "../../src/base/system-error.ts"

export interface ProcessOptions {
  /** A program, or a program with its first arguments, such as `hermesCommand()` returns. */
  readonly command: string | readonly [string, ...string[]]
  readonly args?: readonly string[]
  /** The complete environment, for example `temporaryHome().env`. */
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
}

export interface RunOptions extends ProcessOptions {
  /** Text for standard input. `closed` (the default) is a pipe that ends at once, `inherit-null` is /dev/null. */
  readonly stdin?: string
  /** When the run takes longer, it fails and the error includes the output so far. */
  readonly timeoutMs?: number
  readonly killAfter?: { readonly ms: number; readonly signal: NodeJS.Signals }
}

export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export interface ProcessResult extends ProcessExit {
  readonly stdout: string
  readonly stderr: string
  readonly durationMs: number
}

export interface RunningProcess extends AsyncDisposable {
  readonly pid: number
  /** Everything printed so far. */
  readonly stdout: string
  readonly stderr: string
  /** Settles when the process has exited and its output is read. */
  readonly exit: Promise<ProcessResult>
  /** Waits until standard output or standard error matches. Rejects with both at the time limit or when the process exits. */
  waitForOutput(pattern: RegExp | string, options?: { readonly timeoutMs?: number }): Promise<void>
  write(text: string): void
  closeStdin(): void
  /** Closes the reading end, so that further output of the process fails with EPIPE. */
  closeStdout(): void
  /** Signals only the process, not its group, as `kill PID` does. */
  signal(name: NodeJS.Signals): void
}

const DEFAULT_TIMEOUT_MS = 20_000

/** The built command. */
export function hermesCommand(): [string, string] {
  return [process.execPath, fileURLToPath(new URL("../../dist/hermes.js", import.meta.url))]
}

/** With these flags the first line of the built command starts Node. */
export const LAUNCHER_FLAGS = ["--max-semi-space-size=4", "--v8-pool-size=1"] as const

/** The built command as `hermes` starts it. */
export function installedCommand(): [string, ...string[]] {
  const [node, script] = hermesCommand()
  return [node, ...LAUNCHER_FLAGS, script]
}

/** Runs a command and waits for its exit. */
export async function runProcess(options: RunOptions): Promise<ProcessResult> {
  await using running = startProcess(options)
  if (options.stdin !== "inherit-null") {
    if (options.stdin !== undefined && options.stdin !== "closed") running.write(options.stdin)
    running.closeStdin()
  }
  const { killAfter } = options
  const killer = killAfter === undefined ? undefined : setTimeout(() => running.signal(killAfter.signal), killAfter.ms)
  try {
    return await within(options.timeoutMs ?? DEFAULT_TIMEOUT_MS, running.exit, () =>
      transcript(`${commandLine(options)} did not end in time`, running),
    )
  } finally {
    clearTimeout(killer)
  }
}

/** Starts a command in a new process group. Disposing kills the group. */
export function startProcess(options: ProcessOptions & Pick<RunOptions, "stdin">): RunningProcess {
  const [command, ...firstArgs] = typeof options.command === "string" ? [options.command] : options.command
  const child = spawn(command, [...firstArgs, ...(options.args ?? [])], {
    env: { ...options.env },
    detached: true,
    stdio: [options.stdin === "inherit-null" ? "ignore" : "pipe", "pipe", "pipe"],
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
  return new DrivenProcess(child, commandLine(options))
}

class DrivenProcess implements RunningProcess {
  stdout = ""
  stderr = ""
  readonly exit: Promise<ProcessResult>
  readonly #child: ChildProcess
  readonly #name: string
  readonly #startedAt = performance.now()
  readonly #watchers = new Set<() => void>()

  constructor(child: ChildProcess, name: string) {
    this.#child = child
    this.#name = name
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.stdout += text
      this.#notify()
    })
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.stderr += text
      this.#notify()
    })
    // A process may exit without reading its input.
    child.stdin?.on("error", () => {})
    this.exit = this.#result()
    // A failed start rejects `exit`. Without this handler it would be an unhandled rejection where no test awaits it.
    this.exit.catch(() => {})
  }

  get pid(): number {
    const { pid } = this.#child
    if (pid === undefined) throw new Error(`${this.#name} did not start`)
    return pid
  }

  async waitForOutput(pattern: RegExp | string, options: { readonly timeoutMs?: number } = {}): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const check = () => {
      if (matches(this.stdout, pattern) || matches(this.stderr, pattern)) resolve()
    }
    this.#watchers.add(check)
    check()
    this.exit.then(() => {
      check()
      reject(new Error(transcript(`${this.#name} ended before it printed ${pattern}`, this)))
    }, reject)
    try {
      await within(options.timeoutMs ?? DEFAULT_TIMEOUT_MS, promise, () =>
        transcript(`${this.#name} did not print ${pattern} in time`, this),
      )
    } finally {
      this.#watchers.delete(check)
    }
  }

  write(text: string): void {
    this.#child.stdin?.write(text)
  }

  closeStdin(): void {
    this.#child.stdin?.end()
  }

  closeStdout(): void {
    this.#child.stdout?.destroy()
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid } = this.#child
    if (pid === undefined) return
    killGroup(pid)
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, "exit")
    this.#child.stdin?.destroy()
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }

  async #result(): Promise<ProcessResult> {
    const closed = Promise.withResolvers<void>()
    this.#child.once("close", () => closed.resolve())
    const [code, signal] = (await once(this.#child, "exit")) as [number | null, NodeJS.Signals | null]
    const durationMs = performance.now() - this.#startedAt
    await waitForOutputEnd(closed.promise, this.#child)
    return { code, signal, stdout: this.stdout, stderr: this.stderr, durationMs }
  }

  #notify(): void {
    for (const watcher of this.#watchers) watcher()
  }
}

const OUTPUT_GRACE_MS = 500

/** Waits only briefly, because a grandchild that outlives the process can keep its pipes open. */
async function waitForOutputEnd(closed: Promise<void>, child: ChildProcess): Promise<void> {
  const grace = Promise.withResolvers<void>()
  const timer = setTimeout(() => grace.resolve(), OUTPUT_GRACE_MS)
  await Promise.race([closed, grace.promise])
  clearTimeout(timer)
  child.stdout?.destroy()
  child.stderr?.destroy()
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL")
  } catch (error) {
    // The group has exited already.
    if (errorCode(error) !== "ESRCH") throw error
  }
}

async function within<T>(timeoutMs: number, work: Promise<T>, explain: () => string): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(explain())), timeoutMs)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function matches(text: string, pattern: RegExp | string): boolean {
  return typeof pattern === "string" ? text.includes(pattern) : text.search(pattern) !== -1
}

function transcript(problem: string, output: { readonly stdout: string; readonly stderr: string }): string {
  return `${problem}\n--- stdout\n${output.stdout}\n--- stderr\n${output.stderr}`
}

function commandLine(options: ProcessOptions): string {
  return [options.command, ...(options.args ?? [])].flat().join(" ")
}
