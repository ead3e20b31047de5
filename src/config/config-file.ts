import { lstatSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { writeFileAtomic } from "../base/atomic-file.ts"
import { readRegularFile, UnusableFileError } from "../base/regular-file.ts"
import { surplusCopies, unusedPath } from "../base/kept-copies.ts"
import type { Clock } from "../base/clock.ts"
import { explainSystemError, isNotFound } from "../base/system-error.ts"
import type { ConfigProblem } from "./config-problem.ts"
import type { Tree } from "./document/document-tree.ts"
import type { Home } from "./home.ts"
import { parseKey, readParseCache, writeParseCache } from "./document/parse-cache.ts"

export type ConfigFile =
  | { readonly kind: "absent" }
  | { readonly kind: "parsed"; readonly tree: Tree; readonly problems: readonly ConfigProblem[] }
  | { readonly kind: "broken"; readonly failure: BrokenFile }

export interface BrokenFile {
  readonly message: string
  readonly line: number
  readonly column: number
  /** Copy made of the broken file, where one was made. */
  readonly backup?: string
}

/** Reads and parses `config.yaml`; the YAML library is loaded only when the file changed since it was last parsed. */
export async function readConfigFile(home: Home, clock: Clock): Promise<ConfigFile> {
  const path = home.file("config.yaml")
  const read = readBytes(path)
  if (read.kind === "absent") return read
  if (read.kind === "broken") return { kind: "broken", failure: { message: read.message, line: 1, column: 1 } }
  const cached = readParseCache(home, read.key)
  if (cached !== undefined) return { kind: "parsed", ...cached }
  const decoded = decode(read.bytes)
  if (decoded.kind === "broken") return broken(path, decoded.failure, clock)
  const { parseYaml } = await import("./document/yaml-document.ts")
  const parsed = parseYaml(decoded.text)
  if (!parsed.ok) return broken(path, parsed.error, clock)
  const { tree, problems } = parsed.value
  writeParseCache(home, read.key, { tree, problems })
  return { kind: "parsed", tree, problems }
}

/** The warning for stderr, the log and the banner. */
export function brokenFileWarning(home: Home, broken: BrokenFile): string {
  const copy = broken.backup === undefined ? "" : ` (a copy is in ${home.display(broken.backup)})`
  const where = `line ${broken.line}, column ${broken.column}: ${broken.message}`
  return `${home.display(home.file("config.yaml"))} cannot be used and all its settings are being ignored; ${where}${copy}`
}

/** Real settings are a few kilobytes; a larger file is a mistake that would take minutes to parse. */
export const MAX_CONFIG_BYTES = 2_000_000

type Bytes =
  | { readonly kind: "absent" }
  | { readonly kind: "broken"; readonly message: string }
  | { readonly kind: "read"; readonly bytes: Buffer; readonly key: string }

function readBytes(path: string): Bytes {
  try {
    const { bytes, stats } = readRegularFile(path, { maxBytes: MAX_CONFIG_BYTES })
    return { kind: "read", bytes, key: parseKey(path, stats) }
  } catch (cause) {
    if (isNotFound(cause)) return { kind: "absent" }
    if (cause instanceof UnusableFileError) return { kind: "broken", message: cause.message }
    return { kind: "broken", message: `the file cannot be read: ${explainSystemError(cause)}` }
  }
}

type Decoded =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "broken"; readonly failure: BrokenFile }

function decode(bytes: Buffer): Decoded {
  try {
    return { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) }
  } catch {
    const lines = new TextDecoder("utf-8").decode(bytes).split("\uFFFD", 1)[0]?.split("\n") ?? [""]
    const column = (lines.at(-1)?.length ?? 0) + 1
    return { kind: "broken", failure: { message: "the file is not UTF-8 text", line: lines.length, column } }
  }
}

function broken(path: string, failure: BrokenFile, clock: Clock): ConfigFile {
  const backup = keepCopy(path, clock)
  return { kind: "broken", failure: backup === undefined ? failure : { ...failure, backup } }
}

/** Makes one copy per broken state, so that the user can always return to it while repairing the file. */
function keepCopy(path: string, clock: Clock): string | undefined {
  try {
    const stats = lstatSync(path)
    if (stats.isSymbolicLink() || stats.size === 0) return undefined
    const prefix = `${basename(path)}.corrupt.`
    const copies = readdirSync(dirname(path)).filter((name) => name.startsWith(prefix) && name.endsWith(".bak"))
    if (copies.some((name) => lstatSync(join(dirname(path), name)).size === stats.size)) return undefined
    const copy = unusedPath(join(dirname(path), `${prefix}${fileTimestamp(clock.now())}`), ".bak")
    writeFileAtomic(copy, readFileSync(path))
    for (const name of surplusCopies([...copies.toSorted(), basename(copy)])) rmSync(join(dirname(path), name))
    return copy
  } catch {
    // A full or read-only disk must not keep the program from starting; the original is still there.
    return undefined
  }
}

/** `YYYYMMDD-HHMMSS` in local time. */
export function fileTimestamp(milliseconds: number): string {
  const date = new Date(milliseconds)
  const two = (value: number) => String(value).padStart(2, "0")
  const day = `${date.getFullYear()}${two(date.getMonth() + 1)}${two(date.getDate())}`
  return `${day}-${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`
}
