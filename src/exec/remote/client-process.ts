import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { explainSystemError } from "../../base/system-error.ts"

/** A program of this machine (docker, ssh, …) that carries a command to another place. */
export interface ClientProcess {
  /** Never rejects. `code` is -1 when the program could not be started or was killed by a signal. */
  readonly exit: Promise<ClientExit>
  kill(): void
  /** The client has done its work; one that still hangs on a pipe somebody else holds is ended after a while. */
  letGo(): void
}

interface ClientExit {
  readonly code: number
  /** The end of what the client itself said. */
  readonly stderr: string
  readonly notStarted?: string
}

interface ClientOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly stdin?: string | Uint8Array | undefined
  readonly onOutput: (chunk: Uint8Array) => void
}

export function spawnClient(commandLine: readonly string[], options: ClientOptions): ClientProcess {
  const [program = "", ...args] = commandLine
  const { promise, resolve } = Promise.withResolvers<ClientExit>()
  let child: ChildProcess
  try {
    child = spawn(program, args, {
      env: options.environment,
      detached: true,
      stdio: [options.stdin === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    })
  } catch (error) {
    // Some failures are thrown instead of being told by the "error" event: an argument that is too long, a NUL character.
    return { exit: Promise.resolve(notStarted(error)), kill: nothing, letGo: nothing }
  }
  let stderr = ""
  child.stdout?.on("data", options.onOutput)
  child.stdout?.on("error", nothing)
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-MAX_STDERR_CHARS)
  })
  child.stderr?.on("error", nothing)
  if (options.stdin !== undefined) {
    // A command that does not read its input closes the pipe early; its exit code tells the rest.
    child.stdin?.on("error", nothing)
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
    // ssh leaves a connection behind that keeps stderr open, so the end of the streams may never come.
    const draining = setTimeout(finish, DRAIN_AFTER_EXIT_MS)
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
    letGo: () => {
      const patience = setTimeout(kill, LET_GO_MS)
      patience.unref()
      child.once("exit", () => {
        clearTimeout(patience)
      })
    },
  }
}

export interface ClientAnswer extends ClientExit {
  readonly ended: "exited" | "timed-out" | "interrupted"
  readonly stdout: Buffer
}

/** Runs a client to its end and collects what it says. Never rejects. */
export async function askClient(
  commandLine: readonly string[],
  options: {
    readonly environment: Readonly<Record<string, string>>
    readonly stdin?: string | Uint8Array | undefined
    readonly signal: AbortSignal
    readonly timeoutMs: number
  },
): Promise<ClientAnswer> {
  if (options.signal.aborted) return { ended: "interrupted", code: -1, stdout: Buffer.alloc(0), stderr: "" }
  const chunks: Uint8Array[] = []
  let ended: ClientAnswer["ended"] = "exited"
  const client = spawnClient(commandLine, {
    environment: options.environment,
    stdin: options.stdin,
    onOutput: (chunk) => chunks.push(chunk),
  })
  const stop = (why: ClientAnswer["ended"]): void => {
    ended = why
    client.kill()
  }
  const onAbort = (): void => {
    stop("interrupted")
  }
  const timer = setTimeout(() => {
    stop("timed-out")
  }, options.timeoutMs)
  options.signal.addEventListener("abort", onAbort, { once: true })
  const exit = await client.exit
  clearTimeout(timer)
  options.signal.removeEventListener("abort", onAbort)
  return { ...exit, ended, stdout: Buffer.concat(chunks) }
}

const MAX_STDERR_CHARS = 8 * 1024
const DRAIN_AFTER_EXIT_MS = 300
const LET_GO_MS = 2000

function notStarted(error: unknown): ClientExit {
  return { code: -1, stderr: "", notStarted: explainSystemError(error) }
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    // It has ended in this very moment.
  }
}

function nothing(): void {
  // The other end was closed first; the exit tells what happened.
}

/** The last thing a program said, for a sentence about its failure. */
export function lastLine(stderr: string): string {
  return (stderr.trim().split("\n").at(-1) ?? "").slice(0, 300)
}
