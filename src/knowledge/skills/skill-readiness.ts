import { existsSync } from "node:fs"
import { isAbsolute, join, normalize, sep } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { realPath } from "../../base/real-path.ts"
import type { SkillNeeds } from "./skill-fields.ts"

export interface Readiness {
  readonly missingVariables: readonly string[]
  readonly missingFiles: readonly string[]
  /** The declared variables that have a value. */
  readonly variables: readonly string[]
  /** What the user has to do; "" when nothing is missing. */
  readonly note: string
}

/** Compares what a skill needs with the environment and the home. */
export function readinessOf(
  needs: SkillNeeds,
  sources: { readonly home: string; readonly variable: (name: string) => string | undefined },
): Readiness {
  const isSet = (name: string): boolean => (sources.variable(name) ?? "") !== ""
  const missing = needs.variables.filter(({ name, optional }) => !optional && !isSet(name))
  const missingFiles = needs.credentialFiles.map(({ path }) => path).filter((path) => !isPresent(path, sources.home))
  const note = [
    ...missing.map(({ name, prompt, help, requiredFor }) => {
      const why = [prompt, requiredFor === "" ? "" : `for ${requiredFor}`, help]
        .filter((text) => text !== "")
        .join("; ")
      return `${name} is not set${why === "" ? "" : ` (${why})`}; the user sets it with: hermes config set ${name} VALUE`
    }),
    ...missingFiles.map((path) => `the credential file ${path} is missing in the home of Hermes`),
  ].join("\n")
  return {
    missingVariables: missing.map(({ name }) => name),
    missingFiles,
    variables: needs.variables.map(({ name }) => name).filter(isSet),
    note,
  }
}

/** Credential files are relative to the home and stay in it; anything else counts as missing. */
function isPresent(path: string, home: string): boolean {
  const name = normalize(path)
  if (isAbsolute(path) || name === ".." || name.startsWith(`..${sep}`)) return false
  const full = join(home, name)
  return existsSync(full) && isInside(realPath(full), realPath(home))
}
