import { findProgram } from "../../base/find-program.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { askClient } from "../remote/client-process.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"

/** Finds bubblewrap and tries it: a kernel or an administrator may forbid what it needs. Gives the program. */
export async function probeSandbox(options: {
  readonly path: string
  readonly signal: AbortSignal
  /** What a person who cannot have the sandbox may do instead. */
  readonly otherwise?: string
}): Promise<Result<string>> {
  const { otherwise = "set terminal.sandbox to off" } = options
  if (process.platform !== "linux") return fail(`the sandbox needs Linux; without it, ${otherwise}`)
  const program = locateBubblewrap(options.path)
  if (program === undefined) {
    return fail(`bubblewrap is not installed; install the package bubblewrap, or ${otherwise}`)
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
  const answer = await askClient([...trial, "/bin/sh", "-c", "exit 0"], {
    environment: { PATH: options.path },
    signal: options.signal,
    timeoutMs: 5000,
  })
  if (answer.ended === "exited" && answer.code === 0) return ok(program)
  const reason = answer.notStarted ?? (answer.stderr.trim().split("\n").at(-1) || "it gave no answer")
  return fail(`bubblewrap does not work here (${reason}); allow user namespaces, or ${otherwise}`)
}

/** For those who want commands without a network: only the sandbox can take it away. */
export const LET_THEM_HAVE_NETWORK = "set terminal.sandbox_network to true"

/** The program, untried. */
export function locateBubblewrap(path: string): string | undefined {
  return process.platform === "linux" ? findProgram("bwrap", path) : undefined
}
