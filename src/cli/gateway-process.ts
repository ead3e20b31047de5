import { readFileSync } from "node:fs"
import { isRecord, parseJson } from "../base/json.ts"
import { errorCode } from "../base/system-error.ts"
import type { Home } from "../config/home.ts"
import { CliError } from "./command.ts"

/** The process id of a gateway that runs for this home, whichever edition started it. */
export function gatewayProcess(home: Home): number | undefined {
  const pid = recordedProcess(home.file("gateway.pid"))
  return pid !== undefined && isAlive(pid) ? pid : undefined
}

/** Moving or replacing a home under a running gateway would lose what it writes meanwhile. */
export async function refuseWhileGatewayRuns(home: Home): Promise<void> {
  const pid = gatewayProcess(home)
  if (pid === undefined) return
  throw new CliError(`A gateway runs for ${home.display()} (process ${pid}). Stop it first.`, { exitCode: 1 })
}

function recordedProcess(path: string): number | undefined {
  try {
    const text = readFileSync(path, "utf8").trim()
    const record = parseJson(text)
    const pid = isRecord(record) ? record["pid"] : record
    return typeof pid === "number" && Number.isInteger(pid) && pid > 1 ? pid : undefined
  } catch {
    // No file, or one nobody can read: nothing is known to run.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // A process of another user cannot be signalled, but it is there.
    return errorCode(error) === "EPERM"
  }
}
