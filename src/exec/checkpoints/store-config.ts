import { readFileSync } from "node:fs"
import { join } from "node:path"

import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isNotFound } from "../../base/system-error.ts"

/**
 * Removes every setting from the store's configuration that Hermes does not need. Some settings name programs that git executes, and not
 * all of them can be overridden on the command line.
 */
export function keepPlainConfig(gitDir: string): void {
  const path = join(gitDir, "config")
  const text = readOptional(path)
  const plain = text === undefined ? undefined : plainLines(text)
  if (plain !== undefined && plain !== text) writeFileAtomic(path, plain)
}

function readOptional(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Keeps lines as git writes them. Anything else, for example a value that continues on the next line, is removed. */
function plainLines(text: string): string {
  let section = ""
  const lines = text.split("\n").filter((line) => {
    const header = /^\[(\w+)\]$/u.exec(line)
    if (line.startsWith("[")) section = header?.[1]?.toLowerCase() ?? ""
    if (header !== null) return KEPT.has(section)
    const [, name = "", value = ""] = /^\t(\w+) = ([\w.@ -]*)$/u.exec(line) ?? []
    return line === "" || (value !== "" && KEPT.get(section)?.has(name.toLowerCase()) === true)
  })
  return lines.join("\n")
}

const KEPT: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  [
    "core",
    new Set("repositoryformatversion filemode bare ignorecase precomposeunicode logallrefupdates symlinks".split(" ")),
  ],
  ["fsck", new Set(["badfilemode"])],
  ["user", new Set(["name", "email"])],
  ["gc", new Set(["auto"])],
  ["commit", new Set(["gpgsign"])],
  ["tag", new Set(["gpgsign"])],
])
