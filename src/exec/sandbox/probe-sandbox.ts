import { findTrustedProgram } from "../../base/find-program.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { runProgram } from "../run-program.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"

/** Finds bubblewrap and tests it, because the kernel or an administrator may forbid what it needs. Returns the program's path. */
export async function probeSandbox(options: {
  readonly path: string
  readonly signal: AbortSignal
  /** What the user can do when the sandbox is not available; ends the error message. */
  readonly alternative?: string
}): Promise<Result<string>> {
  const { alternative = "set terminal.sandbox to off" } = options
  if (process.platform !== "linux") return fail(`the sandbox needs Linux; without it, ${alternative}`)
  const program = locateBubblewrap(options.path)
  if (program === undefined) {
    return fail(`bubblewrap is not installed; install the package bubblewrap, or ${alternative}`)
  }
  const trial = sandboxArguments({
    program,
    writable: [],
    readOnly: [],
    hidden: [],
    shown: [],
    network: false,
    cwd: "/",
  })
  const result = await runProgram([...trial, "/bin/sh", "-c", "exit 0"], {
    environment: { PATH: options.path },
    signal: options.signal,
    timeoutMs: 5000,
  })
  if (result.ended === "exited" && result.code === 0) return ok(program)
  const reason = result.notStarted ?? (result.stderr.trim().split("\n").at(-1) || "no error message")
  return fail(`bubblewrap does not work here (${reason}); allow user namespaces, or ${alternative}`)
}

/** The alternative for users who disabled the network for commands, which needs the sandbox. */
export const ALLOW_NETWORK_HINT = "set terminal.sandbox_network to true"

/** Returns the program's path without testing it. */
export function locateBubblewrap(path: string): string | undefined {
  return process.platform === "linux" ? findTrustedProgram("bwrap", path) : undefined
}
