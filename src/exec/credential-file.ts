import { realpathSync, statSync } from "node:fs"
import { isAbsolute, join, normalize, sep } from "node:path"

import { fail, ok, type Result } from "../base/result.ts"
import { isNotFound } from "../base/system-error.ts"
import {
  HERMES_INSTRUCTIONS,
  HERMES_PRIVATE,
  HERMES_PROGRAMS,
  HERMES_PROTECTED,
  HERMES_SECRETS,
} from "../config/protected-paths.ts"

/** Accepts the path of a file relative to the home that stays inside it, even after links are resolved. Returns it normalised. */
export function credentialFile(entry: unknown, homePath: string): Result<string> {
  if (typeof entry !== "string" || entry === "") return fail("an entry of terminal.credential_files is not a file name")
  const name = normalize(entry)
  if (isAbsolute(entry) || name.startsWith("..")) {
    return fail(`the credential file ${entry} must be a path inside ${homePath}`)
  }
  const path = join(homePath, name)
  try {
    if (!realpathSync(path).startsWith(realpathSync(homePath) + sep)) {
      return fail(`the credential file ${entry} points outside ${homePath}`)
    }
  } catch (error) {
    if (isNotFound(error)) return fail(`the credential file ${path} does not exist`)
    throw error
  }
  return ok(name)
}

/**
 * The same for a path that a skill declares. A skill may name a login of its own, but nothing that Hermes itself keeps in the home: the
 * user has not named the file.
 */
export function declaredCredentialFile(entry: string, homePath: string): Result<string> {
  const checked = credentialFile(entry, homePath)
  if (!checked.ok) return checked
  const home = realpathSync(homePath)
  const real = realpathSync(join(home, checked.value))
  const isOwn = [checked.value, real.slice(home.length + 1)].some((name) => OWN.some((own) => isBelow(name, own)))
  if (isOwn) return fail(`${entry} belongs to Hermes; a skill cannot pass it to commands`)
  return statSync(real).isFile() ? checked : fail(`${entry} is not a file`)
}

const OWN: readonly string[] = [
  ...HERMES_SECRETS,
  ...HERMES_PRIVATE,
  ...HERMES_PROTECTED,
  ...HERMES_PROGRAMS,
  ...HERMES_INSTRUCTIONS,
  "cache",
  "commands",
  "imported",
  "modal_snapshots.json",
  "plans",
  "plugins-data",
  "sandboxes",
  "shell-hooks-allowlist.json",
]

function isBelow(name: string, directory: string): boolean {
  return name === directory || name.startsWith(`${directory}/`)
}
