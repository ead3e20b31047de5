import { fstatSync, writeSync } from "node:fs"
import { nodeVersionProblem, versionLine } from "../version.ts"

/**
 * Runs a command line and returns the exit code after all output was written. `--version` and `--help` are handled here; everything
 * else is loaded late: the command tree with `process-run`, the code of a command with its `load`.
 */
export async function main(argv: readonly string[]): Promise<number> {
  const problem = nodeVersionProblem(process.versions.node)
  if (problem !== undefined) return writeDirectly(2, `${problem}\n`, 1)
  if (argv.length === 1) {
    const [only] = argv
    if (only === "--version" || only === "-V") return writeDirectly(1, `${versionLine()}\n`, 0)
    if ((only === "--help" || only === "-h") && !isDevice(1)) {
      const { plainOverview } = await import("./overview.ts")
      return writeDirectly(1, plainOverview(), 0)
    }
  }
  const { runOnProcess } = await import("../process-run.ts")
  return runOnProcess(argv)
}

const RETRY_MS = 5
const MAX_WAIT_MS = 2000

/** Writes to the descriptor, because creating a stream would take longer than everything else here. */
function writeDirectly(descriptor: 1 | 2, text: string, exitCode: number): number {
  let unwritten = Buffer.from(text)
  for (let waited = 0; unwritten.length > 0 && waited < MAX_WAIT_MS;) {
    try {
      unwritten = unwritten.subarray(writeSync(descriptor, unwritten))
    } catch (error) {
      // EAGAIN means that the reader is slow. Other errors mean that it has gone, so there is nothing to report to.
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
    // A closed descriptor is not a terminal.
    return false
  }
}
