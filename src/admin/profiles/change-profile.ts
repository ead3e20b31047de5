import { fail, type Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import type { Refusal } from "../../config/managed.ts"
import { deleteProfile, renameProfile } from "../../config/profiles/profiles.ts"
import { adminResult, type AdminFailure } from "../failure.ts"
import { refuseWhileGatewayRuns } from "../gateway-process.ts"
import type { HomeContext } from "../home-context.ts"

/** Deletes a profile with its sessions and keys, unless its gateway runs. Returns its name. */
export async function deleteIdleProfile(
  { home, environment }: HomeContext,
  name: string,
): Promise<Result<string, AdminFailure>> {
  return adminResult(await deleteProfile({ home, environment }, name, { refuseWhileRunning }))
}

/** Renames a profile, unless its gateway runs. `commands` are names that its executable must not take. */
export async function renameIdleProfile(
  { home, environment }: HomeContext,
  names: { readonly from: string; readonly to: string },
  options: { readonly commands: readonly string[] },
): Promise<Result<{ readonly home: Home; readonly hints: readonly string[] }, AdminFailure>> {
  return adminResult(await renameProfile({ home, environment }, names, { ...options, refuseWhileRunning }))
}

function refuseWhileRunning(home: Home): Result<undefined, Refusal> {
  const idle = refuseWhileGatewayRuns(home)
  return idle.ok ? idle : fail({ exitCode: 1, message: idle.error.message })
}
