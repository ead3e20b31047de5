import { statSync } from "node:fs"
import { userInfo } from "node:os"
import { resolve } from "node:path"
import type { Environment } from "./environment.ts"
import { inContainer, type Home } from "./home.ts"

export interface ToolHome {
  readonly HOME: string
  readonly HERMES_REAL_HOME: string
}

export interface ToolHomeOptions {
  readonly home: Home
  readonly environment: Environment
  readonly mode: "auto" | "real" | "profile"
  /** Whether we run in a container; looked up unless told. */
  readonly container?: boolean
}

/** `HOME` for the programs tools start: the account's, so that git and ssh find their keys, unless asked otherwise. */
export function toolHome({ home, environment, mode, container }: ToolHomeOptions): ToolHome {
  const profileHome = home.file("home")
  const real = realHome(environment, profileHome)
  const wantsProfile = mode === "profile" || (mode === "auto" && (container ?? inContainer(environment)))
  const usable = wantsProfile && statSync(profileHome, { throwIfNoEntry: false })?.isDirectory() === true
  return { HOME: usable ? profileHome : real, HERMES_REAL_HOME: real }
}

/** The first candidate that is not the profile's own home; a parent Hermes may have set that one. */
function realHome(environment: Environment, profileHome: string): string {
  const isReal = (path: string | undefined): path is string =>
    path !== undefined && path.trim() !== "" && resolve(path) !== resolve(profileHome)
  const named = [environment.get("HERMES_REAL_HOME"), environment.get("HOME")].find(isReal)
  // The account database is asked only when nobody else knows: it costs a start several milliseconds.
  if (named !== undefined) return named
  const drive = `${environment.get("HOMEDRIVE") ?? ""}${environment.get("HOMEPATH") ?? ""}`
  const found = [accountHome(), environment.get("USERPROFILE"), drive].find(isReal)
  return found ?? profileHome
}

function accountHome(): string | undefined {
  try {
    return userInfo().homedir
  } catch {
    // A container may run under a user id that has no account.
    return undefined
  }
}
