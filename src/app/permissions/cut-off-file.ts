import { mkdirSync, readFileSync } from "node:fs"
import { dirname } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import type { Home } from "../../config/home.ts"
import type { ToolRule } from "../../policy/rules/permission-rules.ts"

/** A file with rules as it was when it was last used. Lines are hashed, because a file may contain secrets. */
interface LastGood {
  readonly lines: readonly string[]
  readonly restrictions: readonly string[]
}

/**
 * Refuses a file that is only the beginning of what it was and has lost restrictions: a file that was not written to its end is
 * often still valid. Otherwise remembers it for the next time.
 */
export function checkNotCutOff(
  home: Home,
  { name, rules }: { readonly name: string; readonly rules: readonly ToolRule[] },
): Result<undefined> {
  const text = readText(home.file(name))
  const memory = home.file("cache", "rules", `${name}.json`)
  const known = readText(memory)
  const last = known === undefined ? undefined : parseLastGood(known)
  const restrictions = rules.flatMap(({ decision, pattern }) =>
    decision === "allow" ? [] : [`${decision} ${pattern.text}`],
  )
  // The usual case: nothing was restricted and nothing is, so nothing can have been lost.
  if (text === undefined || (known === undefined && restrictions.length === 0)) return ok(undefined)
  const current: LastGood = { lines: hashedLines(text), restrictions }
  if (last !== undefined && isBeginning(text, last.lines)) {
    const lost = last.restrictions.filter((restriction) => !restrictions.includes(restriction))
    if (lost.length > 0)
      return fail(
        `the end of the file is missing, and with it ${lost.map((rule) => `\`${rule}\``).join(", ")}. If you removed that yourself, add a comment line at the end of the file`,
      )
  }
  const remembered = JSON.stringify(current)
  if (remembered !== known) {
    mkdirSync(dirname(memory), { recursive: true, mode: 0o700 })
    writeFileAtomic(memory, remembered)
  }
  return ok(undefined)
}

/** The last line may be cut in the middle. */
function isBeginning(text: string, last: readonly string[]): boolean {
  const lines = hashedLines(text)
  const complete = text.endsWith("\n") || text === "" ? lines : lines.slice(0, -1)
  return complete.length < last.length && complete.every((line, index) => line === last[index])
}

function hashedLines(text: string): readonly string[] {
  return text === ""
    ? []
    : text
        .replace(/\n$/u, "")
        .split("\n")
        .map((line) => sha256Hex(line).slice(0, 16))
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // There is none, or it is reported elsewhere.
    return undefined
  }
}

function parseLastGood(text: string): LastGood | undefined {
  const value = parseJson(text)
  if (!isRecord(value)) return undefined
  const { lines, restrictions } = value
  return isTexts(lines) && isTexts(restrictions) ? { lines, restrictions } : undefined
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((entry) => typeof entry === "string")
}
