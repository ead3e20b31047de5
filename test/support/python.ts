import { spawnSync } from "node:child_process"

import type { SkipReason } from "./skip-reason.ts"

/** Why tests cannot run the Python edition's side of a shared file. */
export function pythonUnavailableReason(needs: string): SkipReason {
  const probe = spawnSync("python3", ["-c", needs], { encoding: "utf8" })
  if (probe.status === 0) return undefined
  const [reason = ""] = (probe.stderr ?? "").trim().split("\n").slice(-1)
  return reason === "" ? "python3 is not installed" : `python3 cannot be used: ${reason}`
}
