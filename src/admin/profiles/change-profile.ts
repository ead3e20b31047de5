import type { Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import { deleteProfile, renameProfile } from "../../config/profiles/profiles.ts"
import type { AdminFailure } from "../failure.ts"
import { refuseWhileGatewayRuns } from "../gateway-process.ts"
import type { HomeContext } from "../home-context.ts"

/** Deletes a profile with its sessions and keys, unless its gateway runs. Returns its name. */
export async function deleteIdleProfile(
  { home, environment }: HomeContext,
  name: string,
): Promise<Result<string, AdminFailure>> {
  return await deleteProfile({ home, environment }, name, { refuseWhileRunning: refuseWhileGatewayRuns })
}

/** Renames a profile, unless its gateway runs. `commands` are names that its executable must not take. */
export async function renameIdleProfile(
  { home, environment }: HomeContext,
  names: { readonly from: string; readonly to: string },
  options: { readonly commands: readonly string[] },
): Promise<Result<{ readonly home: Home; readonly hints: readonly string[] }, AdminFailure>> {
  return await renameProfile({ home, environment }, names, { ...options, refuseWhileRunning: refuseWhileGatewayRuns })
}
