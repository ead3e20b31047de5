import { writeSync } from "node:fs"
import { nodeFloorProblem, versionLine } from "./version.ts"

/**
 * The way from the operating system to a command and back; gives the exit code once all output is handed over. Only names are
 * loaded here: the command tree comes with `dispatch`, a command's own code with its `load`.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const problem = nodeFloorProblem(process.versions.node)
  if (problem !== undefined) return writeDirectly(2, problem, 1)
  if (argv.length === 1 && (argv[0] === "--version" || argv[0] === "-V")) return writeDirectly(1, versionLine(), 0)
  const { runOnProcess } = await import("./process-run.ts")
  return runOnProcess(argv)
}

/** One short line without setting a stream up; a reader that is gone or not ready is nobody's problem at this point. */
function writeDirectly(descriptor: 1 | 2, line: string, exitCode: number): number {
  try {
    writeSync(descriptor, `${line}\n`)
  } catch {
    // The line cannot be delivered and there is no other place to say so; the exit code still tells.
  }
  return exitCode
}
