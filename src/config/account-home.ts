import { userInfo } from "node:os"
import { isAbsolute } from "node:path"
import type { Environment } from "./environment.ts"

/**
 * The home directory of the user: the variable of the platform, or the account database when the variable is missing, empty or
 * relative. A relative path would mean another directory in every working directory. Undefined when the account has none.
 */
export function accountHome(environment: Environment): string | undefined {
  const named = environment.get(process.platform === "win32" ? "USERPROFILE" : "HOME") ?? ""
  return isAbsolute(named) ? named : homeInAccountDatabase()
}

/** Reading the account database takes several milliseconds. */
export function homeInAccountDatabase(): string | undefined {
  try {
    const { homedir } = userInfo()
    return isAbsolute(homedir) ? homedir : undefined
  } catch {
    // A container may run under a user id without an account.
    return undefined
  }
}
