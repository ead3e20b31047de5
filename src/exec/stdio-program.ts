import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"

import { explainSystemError } from "../base/system-error.ts"
import { closeTerminals } from "./local/inherited-descriptors.ts"
import { COMMAND_VARIABLE, createTreeKiller, newCommandId } from "./process-tree.ts"

/** A program that runs for a while and is talked to over its standard streams. It leads a process group of its own. */
export interface StdioProgram {
  readonly pid: number | undefined
  /** Never rejects. */
  readonly exit: Promise<StdioExit>
  /** Resolves when the text was handed to the program; rejects when its input is closed. */
  write(text: string): Promise<void>
  /** Closes its input, then ends it and everything it started: SIGTERM, and SIGKILL for what remains. Resolves when it has exited. */
  stop(): Promise<void>
  /** Kills it and everything it started, without waiting. */
  kill(): void
}

export interface StdioExit {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: string | null
  /** Why it could not be started. */
  readonly notStarted?: string
}

export interface StdioProgramOptions {
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string
  readonly onOutput: (chunk: Buffer) => void
  readonly onErrorOutput: (chunk: Buffer) => void
}

/** How long a program may take to exit by itself when its input is closed. */
const EXIT_GRACE_MS = 500

export function startStdioProgram(commandLine: readonly string[], options: StdioProgramOptions): StdioProgram {
  const [program = "", ...args] = [...closeTerminals(), ...commandLine]
  const { promise: exit, resolve } = Promise.withResolvers<StdioExit>()
  const commandId = newCommandId()
  let child: ChildProcess
  try {
    child = spawn(program, args, {
      env: { ...options.environment, [COMMAND_VARIABLE]: commandId },
      cwd: options.cwd,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    })
  } catch (error) {
    // Node throws for some failures instead of emitting "error": an argument that is too long, a NUL character.
    resolve(notStarted(error))
    return { pid: undefined, exit, write: () => Promise.reject(new Error("not started")), stop: noWork, kill: noop }
  }
  const killer = createTreeKiller(child.pid, commandId)
  child.once("error", (error) => {
    if (child.pid === undefined) resolve(notStarted(error))
  })
  child.once("exit", (code, signal) => {
    // A wrapper such as npx may leave the server itself behind.
    killer.kill()
    resolve({ code, signal })
  })
  child.stdout?.on("data", options.onOutput)
  child.stderr?.on("data", options.onErrorOutput)
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on("error", noop)
  return {
    pid: child.pid,
    exit,
    write: (text) =>
      new Promise((written, refused) => {
        if (child.stdin === null || child.stdin.destroyed || !child.stdin.writable) {
          refused(new Error("the program has closed its input"))
          return
        }
        child.stdin.write(text, (error) => {
          if (error === null || error === undefined) written()
          else refused(error)
        })
      }),
    stop: async () => {
      child.stdin?.end()
      const timer = setTimeout(() => {
        killer.terminate()
      }, EXIT_GRACE_MS)
      await exit
      clearTimeout(timer)
    },
    kill: () => {
      killer.kill()
    },
  }
}

function notStarted(error: unknown): StdioExit {
  return { code: null, signal: null, notStarted: explainSystemError(error) }
}

function noop(): void {
  // The other end closed the pipe first; `exit` reports the outcome.
}

function noWork(): Promise<void> {
  return Promise.resolve()
}
