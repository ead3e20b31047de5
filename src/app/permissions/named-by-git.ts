import { realPath } from "../../base/real-path.ts"
import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"

/** Looks into the settings of git on this machine. */
export function namedByGit(
  workspaceRoot: string,
  { userHome }: { readonly userHome: string },
): NonNullable<DispatchSession["isNamedByGit"]> {
  return async (path) => {
    const { isNamedByGit } = await import("../../exec/project/named-by-settings.ts")
    return isNamedByGit(path, { root: realPath(workspaceRoot), userHome })
  }
}
