import { delimiter } from "node:path"

import { findProgram } from "../../base/find-program.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { askClient } from "../remote/client-process.ts"
import type { ClientAnswer } from "../remote/client-process.ts"

/** Docker or Podman through its command line. */
export interface ContainerEngine {
  readonly program: string
  readonly environment: Readonly<Record<string, string>>
  ask(
    args: readonly string[],
    options: { readonly signal: AbortSignal; readonly timeoutMs?: number },
  ): Promise<ClientAnswer>
}

export interface EngineOptions {
  /** The environment of the program; its `PATH` is searched. */
  readonly environment: Readonly<Record<string, string>>
  /** HERMES_DOCKER_BINARY. */
  readonly named: string | undefined
  readonly signal: AbortSignal
}

/** The first engine that answers. A docker program whose daemon is down does not hide a podman that works. */
export async function findEngine(options: EngineOptions): Promise<Result<ContainerEngine>> {
  const named = options.named === undefined || options.named === "" ? undefined : options.named
  const programs = named === undefined ? installedEngines(options.environment["PATH"] ?? "") : [named]
  const failures: string[] = []
  for (const program of programs) {
    const engine = engineOf(program, options.environment)
    const answer = await engine.ask(["version"], { signal: options.signal, timeoutMs: 15_000 })
    if (answer.ended === "exited" && answer.code === 0) return ok(engine)
    failures.push(`${program}: ${reasonOf(answer)}`)
  }
  if (failures.length > 0) {
    return fail(`no container engine answers (${failures.join("; ")}); start it, or set terminal.backend to local`)
  }
  return fail("neither docker nor podman is installed; install one, or set terminal.backend to local")
}

/** The last thing the engine said, in one line. */
export function reasonOf(answer: ClientAnswer): string {
  if (answer.notStarted !== undefined) return answer.notStarted
  if (answer.ended === "timed-out") return "it does not answer"
  if (answer.ended === "interrupted") return "interrupted"
  const lines = answer.stderr.trim().split("\n")
  return (lines.findLast((line) => /error|cannot|denied|failed/i.test(line)) ?? lines.at(-1) ?? "")
    .replace(/^Error(?: response from daemon)?: /i, "")
    .slice(0, 400)
}

function engineOf(program: string, environment: Readonly<Record<string, string>>): ContainerEngine {
  return {
    program,
    environment,
    ask: async (args, { signal, timeoutMs = 60_000 }) =>
      await askClient([program, ...args], { environment, signal, timeoutMs }),
  }
}

function installedEngines(path: string): readonly string[] {
  const searched = [path, ...USUAL_DIRECTORIES].join(delimiter)
  return ["docker", "podman"].flatMap((name) => findProgram(name, searched) ?? [])
}

const USUAL_DIRECTORIES = [
  "/usr/local/bin",
  "/opt/homebrew/bin",
  "/usr/bin",
  "/opt/podman/bin",
  "/Applications/Docker.app/Contents/Resources/bin",
  "/snap/bin",
]
