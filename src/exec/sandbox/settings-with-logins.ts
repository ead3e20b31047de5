import { statSync } from "node:fs"
import type { Stats } from "node:fs"
import { join } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { expandNames } from "../project/expand-names.ts"

/**
 * Settings in visible directories of the home without which their programs do not work as usual, and which rarely hold a login. They are hidden
 * only while they have one.
 */
const SETTINGS: ReadonlyMap<string, readonly string[]> = Map.groupBy(
  [
    ".cabal/config",
    ".cargo/config",
    ".cargo/config.toml",
    ".conda/.condarc",
    ".conda/condarc",
    ".config/mise/config.toml",
    ".config/mise/config.local.toml",
    ".config/mise/conf.d/*.toml",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".gradle/init.d/*",
    ".stack/config.yaml",
  ],
  (name) => name.split("/", 1)[0] ?? name,
)

const MAX_BYTES = 1_000_000

/** Returns those of the settings that have a login. `inHome` are the names in the home. */
export function settingsWithLogins(userHome: string, inHome: ReadonlySet<string>): readonly string[] {
  const present = [...SETTINGS].flatMap(([top, names]) => (inHome.has(top) ? names : []))
  return expandNames(userHome, present).filter((name) => hasLogin(join(userHome, name)))
}

/** Of this process: before each command, files that have not changed are not read again. */
const judged = new Map<string, { readonly version: string; readonly hasLogin: boolean }>()

function hasLogin(path: string): boolean {
  const facts = factsOf(path)
  if (facts?.isFile() !== true) return false
  const version = `${facts.dev}:${facts.ino}:${facts.size}:${facts.mtimeMs}:${facts.ctimeMs}`
  const known = judged.get(path)
  if (known?.version === version) return known.hasLogin
  // What cannot be read here may hold one.
  const text = readRegularText(path, { maxBytes: MAX_BYTES })
  const found = text === undefined || mentionsLogin(text)
  judged.set(path, { version, hasLogin: found })
  return found
}

function factsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    // A part of the path is a file, or not accessible: commands cannot read it either.
    return undefined
  }
}

/** Whether a text has a password, token or key as a value, or an address with a login. Comments and references to variables do not count. */
export function mentionsLogin(text: string): boolean {
  return text.split("\n").some((line) => {
    if (COMMENT.test(line)) return false
    const value = NAMED.exec(line)?.[1]
    return (value !== undefined && VALUE.test(value)) || ADDRESS.test(line)
  })
}

const COMMENT = /^\s*(?:#|--|\/\/|\/?\*)/u
/** `password: x`, `GITHUB_TOKEN = "x"`, `token = { value = "x" }`, `setPassword("x")`, `password "x"`. */
const NAMED =
  /(?:password|passwd|passphrase|token|secret|(?:api|access|secret|auth)[_-]?key|_auth)(?![\w-])["']?[\s:=(]+(?:\{\s*value\s*=\s*)?(.*)$/iu
/** In quotes and not a reference, or a plain word. `System.getenv(…)` is computed. */
const VALUE = /^(?:["'](?!\$|\{\{)[^"']|(?!\w+[.(])[\w/+.-])/u
const ADDRESS = /:\/\/[^\s/@:"'$]+:[^\s/@"'$]+@|:\/\/[^\s"']*\/t\/[\w-]{8,}/u
