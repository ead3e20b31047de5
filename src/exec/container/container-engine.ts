import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { findClientPrograms, untrustedText } from "../client-program.ts"
import type { ClientProgram } from "../client-program.ts"
import { runProgram } from "../run-program.ts"
import type { CommandLineResult } from "../run-program.ts"

/** Docker or Podman through its command line. */
export interface ContainerEngine {
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
  run(
    args: readonly string[],
    options: { readonly signal: AbortSignal; readonly timeoutMs?: number },
  ): Promise<CommandLineResult>
}

export interface EngineOptions {
  /** The environment of the engine's client program. Its `PATH` and HERMES_DOCKER_BINARY say which one. */
  readonly environment: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** Returns the first engine that responds: a docker client whose daemon is down does not hide a working podman. */
export async function findEngine(options: EngineOptions): Promise<Result<ContainerEngine>> {
  const failures: string[] = []
  for (const program of findClientPrograms(ENGINES, options.environment)) {
    const engine = engineOf(program, options.environment)
    const result = await engine.run(["version"], { signal: options.signal, timeoutMs: 15_000 })
    if (result.ended === "exited" && result.code === 0) return ok(engine)
    failures.push(`${program}: ${failureReason(result)}`)
  }
  if (failures.length > 0) {
    return fail(`no container engine responds (${failures.join("; ")}); start it, or set terminal.backend to local`)
  }
  return fail(untrustedText(ENGINES, options.environment) ?? ENGINES.missing)
}

/** The most relevant line of the engine's error output. */
export function failureReason(result: CommandLineResult): string {
  if (result.notStarted !== undefined) return result.notStarted
  if (result.ended === "timed-out") return "it does not respond"
  if (result.ended === "interrupted") return "interrupted"
  const lines = result.stderr.trim().split("\n")
  return (lines.findLast((line) => /error|cannot|denied|failed/i.test(line)) ?? lines.at(-1) ?? "")
    .replace(/^Error(?: response from daemon)?: /i, "")
    .slice(0, 400)
}

function engineOf(program: string, environment: Readonly<Record<string, string>>): ContainerEngine {
  return {
    program,
    environment,
    run: async (args, { signal, timeoutMs = 60_000 }) =>
      await runProgram([program, ...args], { environment, signal, timeoutMs }),
  }
}

const ENGINES: ClientProgram = {
  names: ["docker", "podman"],
  variable: "HERMES_DOCKER_BINARY",
  directories: [
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/usr/bin",
    "/opt/podman/bin",
    "/Applications/Docker.app/Contents/Resources/bin",
    "/snap/bin",
  ],
  missing: "neither docker nor podman is installed; install one, or set terminal.backend to local",
}
