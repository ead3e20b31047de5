import { fstatSync, writeSync } from "node:fs"
import { nodeFloorProblem, versionLine } from "./version.ts"

/**
 * The way from the operating system to a command and back; gives the exit code once all output is handed over. Only names are
 * loaded here: the command tree comes with `process-run`, a command's own code with its `load`.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const problem = nodeFloorProblem(process.versions.node)
  if (problem !== undefined) return writeDirectly(2, `${problem}\n`, 1)
  if (argv.length === 1) {
    const [only] = argv
    if (only === "--version" || only === "-V") return writeDirectly(1, `${versionLine()}\n`, 0)
    if ((only === "--help" || only === "-h") && !isDevice(1)) {
      const { plainOverview } = await import("./overview.ts")
      return writeDirectly(1, plainOverview(), 0)
    }
  }
  const { runOnProcess } = await import("./process-run.ts")
  return runOnProcess(argv)
}

const RETRY_MS = 5
const PATIENCE_MS = 2000

/** Setting a stream up would cost more than everything else that is done for these few lines. */
function writeDirectly(descriptor: 1 | 2, text: string, exitCode: number): number {
  let rest = Buffer.from(text)
  for (let waited = 0; rest.length > 0 && waited < PATIENCE_MS;) {
    try {
      rest = rest.subarray(writeSync(descriptor, rest))
    } catch (error) {
      // A reader that is slow gets a moment; one that is gone is nobody's problem, and there is nobody to tell.
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) return exitCode
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
      waited += RETRY_MS
    }
  }
  return exitCode
}

function isDevice(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice()
  } catch {
    // A closed descriptor is no terminal.
    return false
  }
}
