import { readFileSync } from "node:fs"
import { isRecord, parseJson } from "../base/json.ts"
import { ok, type Result } from "../base/result.ts"
import { errorCode } from "../base/system-error.ts"
import type { Home } from "../config/home.ts"
import { failed, type AdminFailure } from "./failure.ts"

/** The process id of the gateway that runs for this home, whichever edition started it. */
export function runningGateway(home: Home): number | undefined {
  const pid = recordedProcess(home.file("gateway.pid"))
  return pid !== undefined && isAlive(pid) ? pid : undefined
}

/** Refuses to move or replace a home while its gateway runs: what the gateway writes meanwhile would be lost. */
export function refuseWhileGatewayRuns(home: Home): Result<undefined, AdminFailure> {
  const pid = runningGateway(home)
  if (pid === undefined) return ok(undefined)
  return failed(`A gateway is running for ${home.display()} (process ${pid}). Stop it first: \`kill ${pid}\``)
}

function recordedProcess(path: string): number | undefined {
  try {
    const record = parseJson(readFileSync(path, "utf8").trim())
    const pid = isRecord(record) ? record["pid"] : record
    return typeof pid === "number" && Number.isInteger(pid) && pid > 1 ? pid : undefined
  } catch {
    // Without a readable file there is no gateway to report.
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists, but belongs to another user.
    return errorCode(error) === "EPERM"
  }
}
