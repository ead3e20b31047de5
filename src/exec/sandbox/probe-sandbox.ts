import { findTrustedProgram } from "../../base/find-program.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { runProgram } from "../run-program.ts"
import { sandboxArguments } from "./sandbox-arguments.ts"
import type { LoadSandboxRuntime } from "./seatbelt/sandbox-runtime.ts"

interface ProbeOptions {
  readonly path: string
  readonly signal: AbortSignal
  /** What the user can do when the sandbox is not available; ends the error message. */
  readonly alternative?: string
  /** Tests sandbox-runtime on any system. */
  readonly loadRuntime?: LoadSandboxRuntime | undefined
}

/** Finds out whether the sandbox works: the kernel or an administrator may forbid what it needs. */
export async function probeSandbox(options: ProbeOptions): Promise<Result<undefined>> {
  const { alternative = "set terminal.sandbox to off" } = options
  const trial = await trialPrefix(options)
  if (!trial.ok)
    return fail(`${trial.error.reason}${trial.error.isFinal === true ? "; without it," : ", or"} ${alternative}`)
  const result = await runProgram([...trial.value.prefix, "/bin/sh", "-c", "exit 0"], {
    environment: { PATH: options.path },
    signal: options.signal,
    timeoutMs: 5000,
  })
  if (result.ended === "exited" && result.code === 0) return ok(undefined)
  const reason = result.notStarted ?? (result.stderr.trim().split("\n").at(-1) || "no error message")
  const { program, advice } = trial.value
  return fail(`${program} does not work here (${reason}); ${advice}${alternative}`)
}

interface Trial {
  readonly program: string
  readonly prefix: readonly string[]
  /** What may help, before the alternative. */
  readonly advice: string
}

const NOTHING_ALLOWED = { writable: [], readOnly: [], hidden: [], shown: [], network: false, cwd: "/" }

/** The command line of a sandbox in which nothing is allowed. Fails with what is missing. */
async function trialPrefix({
  path,
  loadRuntime,
}: ProbeOptions): Promise<Result<Trial, { readonly reason: string; readonly isFinal?: true }>> {
  if (usesSandboxRuntime(loadRuntime)) {
    const [{ loadSandboxRuntime }, { runtimeParameters }] = await Promise.all([
      import("./seatbelt/sandbox-runtime.ts"),
      import("./seatbelt/runtime-parameters.ts"),
    ])
    const loaded = await (loadRuntime ?? loadSandboxRuntime)(path)
    if (!loaded.ok) return fail({ reason: loaded.error })
    const prefix = loaded.value.wrap(runtimeParameters({ ...NOTHING_ALLOWED, sockets: [] }))
    return ok({ program: "sandbox-exec", prefix, advice: "" })
  }
  if (process.platform !== "linux") return fail({ reason: "the sandbox needs Linux or macOS", isFinal: true })
  const program = locateBubblewrap(path)
  if (program === undefined) return fail({ reason: "bubblewrap is not installed; install the package bubblewrap" })
  const prefix = sandboxArguments({ ...NOTHING_ALLOWED, program })
  return ok({ program: "bubblewrap", prefix, advice: "allow user namespaces, or " })
}

/** Whether sandbox-runtime confines commands instead of bubblewrap: on macOS, or where a test asks for it. */
export function usesSandboxRuntime(loadRuntime?: LoadSandboxRuntime): boolean {
  return process.platform === "darwin" || loadRuntime !== undefined
}

/** Whether what the sandbox needs is installed, without testing it. */
export async function isSandboxInstalled(path: string): Promise<boolean> {
  if (!usesSandboxRuntime()) return locateBubblewrap(path) !== undefined
  const { loadSandboxRuntime } = await import("./seatbelt/sandbox-runtime.ts")
  return (await loadSandboxRuntime(path)).ok
}

/** The alternative for users who disabled the network for commands, which needs the sandbox. */
export const ALLOW_NETWORK_HINT = "set terminal.sandbox_network to true"

/** Returns the program's path without testing it. */
export function locateBubblewrap(path: string): string | undefined {
  return process.platform === "linux" ? findTrustedProgram("bwrap", path) : undefined
}
