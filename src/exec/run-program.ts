import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { explainSystemError } from "../base/system-error.ts"

/** A program on this machine (git, docker, ssh, …), started without a shell in its own process group. */
export interface SpawnedProcess {
  /** Never rejects. `code` is -1 when the program could not be started or was killed by a signal. */
  readonly exit: Promise<ProcessExit>
  kill(): void
  /** Kills the program if it does not exit soon: another process may hold its pipes open after its work is done. */
  killAfterGrace(): void
}

interface ProcessExit {
  readonly code: number
  /** The last part of stderr. */
  readonly stderr: string
  /** Why the program could not be started. */
  readonly notStarted?: string
}

interface SpawnOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly cwd?: string | undefined
  readonly stdin?: string | Uint8Array | undefined
  readonly onOutput: (chunk: Uint8Array) => void
  /** How long output that is left in the pipe may take after the program has exited. */
  readonly drainMs?: number
}

export function spawnProgram(commandLine: readonly string[], options: SpawnOptions): SpawnedProcess {
  const [program = "", ...args] = commandLine
  const { promise, resolve } = Promise.withResolvers<ProcessExit>()
  let child: ChildProcess
  try {
    child = spawn(program, args, {
      env: options.environment,
      cwd: options.cwd,
      detached: true,
      stdio: [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    })
  } catch (error) {
    // Node throws for some failures instead of emitting "error": an argument that is too long, a NUL character.
    return { exit: Promise.resolve(notStarted(error)), kill: noop, killAfterGrace: noop }
  }
  let stderr = ""
  child.stdout?.on("data", options.onOutput)
  child.stdout?.on("error", noop)
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-MAX_STDERR_CHARS)
  })
  child.stderr?.on("error", noop)
  if (options.stdin !== undefined) {
    // A command that does not read its input closes the pipe early; its exit code reports the outcome.
    child.stdin?.on("error", noop)
    child.stdin?.end(options.stdin)
  }
  child.once("error", (error) => {
    if (child.pid === undefined) resolve(notStarted(error))
  })
  child.once("exit", (code) => {
    const finish = (): void => {
      child.stdout?.destroy()
      child.stderr?.destroy()
      resolve({ code: code ?? -1, stderr })
    }
    // ssh leaves a shared connection running that keeps stderr open, so "close" may never come.
    const draining = setTimeout(finish, options.drainMs ?? DRAIN_AFTER_EXIT_MS)
    child.once("close", () => {
      clearTimeout(draining)
      finish()
    })
  })
  const kill = (): void => {
    killGroup(child)
  }
  return {
    exit: promise,
    kill,
    killAfterGrace: () => {
      const timer = setTimeout(kill, EXIT_GRACE_MS)
      timer.unref()
      child.once("exit", () => {
        clearTimeout(timer)
      })
    },
  }
}

export interface CommandLineResult extends ProcessExit {
  readonly ended: "exited" | "timed-out" | "interrupted"
  readonly stdout: Buffer
}

/** Runs a program to its end and collects its output. Never rejects. */
export async function runProgram(
  commandLine: readonly string[],
  options: {
    readonly environment: Readonly<Record<string, string>>
    readonly cwd?: string
    readonly stdin?: string | Uint8Array | undefined
    readonly signal: AbortSignal
    readonly timeoutMs: number
  },
): Promise<CommandLineResult> {
  if (options.signal.aborted) return { ended: "interrupted", code: -1, stdout: Buffer.alloc(0), stderr: "" }
  const chunks: Uint8Array[] = []
  let bytes = 0
  let ended: CommandLineResult["ended"] = "exited"
  const spawned = spawnProgram(commandLine, {
    environment: options.environment,
    cwd: options.cwd,
    stdin: options.stdin,
    onOutput: (chunk) => {
      bytes += chunk.length
      if (bytes <= MAX_OUTPUT_BYTES) chunks.push(chunk)
      else spawned.kill()
    },
  })
  const stop = (why: CommandLineResult["ended"]): void => {
    ended = why
    spawned.kill()
  }
  const onAbort = (): void => {
    stop("interrupted")
  }
  const timer = setTimeout(() => {
    stop("timed-out")
  }, options.timeoutMs)
  options.signal.addEventListener("abort", onAbort, { once: true })
  const exit = await spawned.exit
  clearTimeout(timer)
  options.signal.removeEventListener("abort", onAbort)
  if (bytes > MAX_OUTPUT_BYTES)
    return { code: -1, ended, stdout: Buffer.alloc(0), stderr: `the output is larger than ${MAX_OUTPUT_BYTES} bytes` }
  return { ...exit, ended, stdout: Buffer.concat(chunks) }
}

const MAX_STDERR_CHARS = 8 * 1024
/** A remote machine must not fill this one's memory. */
const MAX_OUTPUT_BYTES = 256 * 1024 * 1024
const DRAIN_AFTER_EXIT_MS = 300
const EXIT_GRACE_MS = 2000

function notStarted(error: unknown): ProcessExit {
  return { code: -1, stderr: "", notStarted: explainSystemError(error) }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    // It has just exited.
  }
}

function noop(): void {
  // The other end closed the pipe first; the exit code reports the outcome.
}

/** The last line of stderr, for an error message about a failed program. */
export function lastLine(stderr: string): string {
  return (stderr.trim().split("\n").at(-1) ?? "").slice(0, 300)
}
