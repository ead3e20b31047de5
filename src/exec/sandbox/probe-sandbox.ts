import { findProgram } from "../../base/find-program.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { askClient } from "../remote/client-process.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"

/** Finds bubblewrap and tries it: a kernel or an administrator may forbid what it needs. Gives the program. */
export async function probeSandbox(options: {
  readonly path: string
  readonly signal: AbortSignal
}): Promise<Result<string>> {
  if (process.platform !== "linux") return fail("the sandbox needs Linux")
  const program = locateBubblewrap(options.path)
  if (program === undefined) {
    return fail("bubblewrap is not installed; install the package bubblewrap, or set terminal.sandbox to off")
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
  return fail(`bubblewrap does not work here (${reason}); allow user namespaces, or set terminal.sandbox to off`)
}

/** The program, untried. */
export function locateBubblewrap(path: string): string | undefined {
  return process.platform === "linux" ? findProgram("bwrap", path) : undefined
}
