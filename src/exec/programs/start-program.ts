import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { Duplex, Readable } from "node:stream"

import { findTrustedProgram } from "../../base/find-program.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { DRAIN_AFTER_EXIT_MS, ignoreClosedPipe, unusableDirectory } from "../local/local-command.ts"
import { COMMAND_VARIABLE, createTreeKiller, newCommandId } from "../process-tree.ts"
import type { ProgramExit, ProgramOptions, StartedProgram } from "./programs.ts"

const TERMINATION_GRACE_MS = 5000

/** Starts a program in its own process group. Never throws: `exit` reports a program that could not be started. */
export function startProgram(
  options: Pick<ProgramOptions, "commandLine" | "cwd" | "environment" | "channels"> & {
    /** Command line that starts the program, for example a sandbox. */
    readonly prefix: readonly string[]
  },
): StartedProgram {
  const [program = "", ...args] = [...options.prefix, ...options.commandLine]
  const commandId = newCommandId()
  let child: ChildProcess
  try {
    // Node creates a socket pair for each "pipe".
    const channels = Array.from({ length: options.channels }, () => "pipe" as const)
    child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...options.environment, [COMMAND_VARIABLE]: commandId },
      detached: true,
      stdio: ["ignore", "pipe", "pipe", ...channels],
    })
  } catch (error) {
    // Node throws some failures instead of emitting "error".
    return neverStarted(explainSystemError(error))
  }
  const { pid } = child
  const killer = createTreeKiller(pid, commandId, { graceMs: TERMINATION_GRACE_MS })
  const channels = child.stdio.slice(3).filter((stream) => stream instanceof Duplex)
  for (const stream of [child.stdout, child.stderr, ...channels]) stream?.on("error", ignoreClosedPipe)
  const exit = Promise.withResolvers<ProgramExit>()
  child.once("error", (error) => {
    if (pid === undefined) exit.resolve(failedToStart(unusableDirectory(options.cwd) ?? explainSystemError(error)))
  })
  child.once("exit", (code, signal) => {
    killer.finish()
    // What the program started may hold its output open.
    const draining = setTimeout(finish, DRAIN_AFTER_EXIT_MS)
    child.once("close", finish)
    function finish(): void {
      clearTimeout(draining)
      child.stdout?.destroy()
      child.stderr?.destroy()
      for (const channel of channels) channel.destroy()
      killer.kill()
      exit.resolve({ code, signal })
    }
  })
  return {
    stdout: child.stdout ?? Readable.from([]),
    stderr: child.stderr ?? Readable.from([]),
    channels,
    exit: exit.promise,
    terminate: () => {
      killer.terminate()
    },
    kill: () => {
      killer.kill()
    },
  }
}

/** Without the sandbox, which ends with Hermes, a program that computes forever would not notice that Hermes was killed. */
export function endsWithHermes(path: string): readonly string[] {
  const program = process.platform === "linux" ? findTrustedProgram("setpriv", path) : undefined
  return program === undefined ? [] : [program, "--pdeathsig", "KILL", "--"]
}

function neverStarted(reason: string): StartedProgram {
  return {
    stdout: Readable.from([]),
    stderr: Readable.from([]),
    channels: [],
    exit: Promise.resolve(failedToStart(reason)),
    terminate: () => undefined,
    kill: () => undefined,
  }
}

function failedToStart(notStarted: string): ProgramExit {
  return { code: null, signal: null, notStarted }
}
