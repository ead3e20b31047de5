import { join } from "node:path"

import { readRegularFile } from "../../../base/regular-file.ts"

const FILE = ".skillignore"
const MAX_BYTES = 64 * 1024
const MAX_RULES = 500

export type IgnoresPath = (path: string, isDirectory: boolean) => boolean

/** Reads `.skillignore` (gitignore syntax): what it names is neither scanned nor installed. */
export function readIgnoreFile(directory: string): IgnoresPath {
  let text: string
  try {
    text = readRegularFile(join(directory, FILE), { maxBytes: MAX_BYTES }).bytes.toString("utf8")
  } catch {
    // Most skills have none.
    return () => false
  }
  const rules = text
    .split("\n")
    .slice(0, MAX_RULES)
    .flatMap((line) => ruleFor(line) ?? [])
  return (path, isDirectory) => {
    let isIgnored = false
    for (const { pattern, negated, directoryOnly } of rules) {
      if ((!directoryOnly || isDirectory) && pattern.test(path)) isIgnored = !negated
    }
    return isIgnored
  }
}

interface IgnoreRule {
  readonly pattern: RegExp
  readonly negated: boolean
  readonly directoryOnly: boolean
}

function ruleFor(line: string): IgnoreRule | undefined {
  const text = line.trim()
  if (text === "" || text.startsWith("#") || text.length > 300) return undefined
  const negated = text.startsWith("!")
  const body = negated ? text.slice(1) : text
  const directoryOnly = body.endsWith("/")
  const glob = body.replace(/\/$/u, "").replace(/^\//u, "")
  // Without a slash a pattern applies at every depth.
  const isAnchored = body.replace(/\/$/u, "").includes("/")
  return { pattern: new RegExp(`^${isAnchored ? "" : "(?:[^]*/)?"}${expression(glob)}$`, "u"), negated, directoryOnly }
}

function expression(glob: string): string {
  return glob
    .split(/(\*\*\/|\*\*|\*|\?)/u)
    .map((piece) => {
      if (piece === "**/") return "(?:[^]*/)?"
      if (piece === "**") return "[^]*"
      if (piece === "*") return "[^/]*"
      return piece === "?" ? "[^/]" : piece.replaceAll(/[.+^${}()|[\]\\]/gu, String.raw`\$&`)
    })
    .join("")
}
