import { statSync } from "node:fs"
import { isAbsolute, resolve } from "node:path"
import { homeInAccountDatabase } from "./account-home.ts"
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
  /** Whether this is a container; default: detected. */
  readonly container?: boolean
}

/** `HOME` for programs that tools start: by default the user's own, so that git and ssh find their keys. */
export function toolHome({ home, environment, mode, container }: ToolHomeOptions): ToolHome {
  const profileHome = home.file("home")
  const real = realHome(environment, profileHome)
  const wantsProfile = mode === "profile" || (mode === "auto" && (container ?? inContainer(environment)))
  const usable = wantsProfile && statSync(profileHome, { throwIfNoEntry: false })?.isDirectory() === true
  return { HOME: usable ? profileHome : real, HERMES_REAL_HOME: real }
}

/** The first candidate that is not the profile's own home, which a parent Hermes may have set. */
function realHome(environment: Environment, profileHome: string): string {
  const isReal = (path: string | undefined): path is string =>
    path !== undefined && isAbsolute(path) && resolve(path) !== resolve(profileHome)
  const named = [environment.get("HERMES_REAL_HOME"), environment.get("HOME")].find(isReal)
  // The account database is the last resort, since reading it takes several milliseconds.
  if (named !== undefined) return named
  const drive = `${environment.get("HOMEDRIVE") ?? ""}${environment.get("HOMEPATH") ?? ""}`
  const found = [homeInAccountDatabase(), environment.get("USERPROFILE"), drive].find(isReal)
  return found ?? profileHome
}
