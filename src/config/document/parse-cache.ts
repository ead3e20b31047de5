import { readFileSync, type BigIntStats } from "node:fs"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { isRecord, parseJson } from "../../base/json.ts"
import type { ConfigProblem } from "../config-problem.ts"
import type { Tree } from "./document-tree.ts"
import type { Home } from "../home.ts"

/** The parsed `config.yaml` as written, without values that `${VAR}` stands for. */
export interface ParsedDocument {
  readonly tree: Tree
  readonly problems: readonly ConfigProblem[]
}

/** Identifies one state of a file. Raise the number when the parser's rules change. */
export function parseKey(path: string, stats: BigIntStats): string {
  return `2 ${stats.mtimeNs} ${stats.ctimeNs} ${stats.ino} ${stats.size} ${path}`
}

/**
 * The cached parse of exactly this state of the file; undefined when the cache is missing, damaged or from another release, in
 * which case the file is parsed.
 */
export function readParseCache(home: Home, key: string): ParsedDocument | undefined {
  let text: string
  try {
    text = readFileSync(cachePath(home), "utf8")
  } catch {
    return undefined
  }
  const value = parseJson(text)
  if (!isRecord(value) || value["key"] !== key || !isRecord(value["tree"]) || !Array.isArray(value["problems"])) {
    return undefined
  }
  return { tree: value["tree"], problems: value["problems"].filter(isProblem) }
}

/** A failure to store is ignored: without the cache a start only takes a few milliseconds longer. */
export function writeParseCache(home: Home, key: string, parsed: ParsedDocument): void {
  if (!survivesJson(parsed.tree)) return
  try {
    writeFileAtomic(cachePath(home), JSON.stringify({ key, tree: parsed.tree, problems: parsed.problems }))
  } catch {
    return
  }
}

function cachePath(home: Home): string {
  return home.file("cache", "config.parsed.json")
}

/** JSON has no infinity and no "not a number". */
function survivesJson(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value)
  if (Array.isArray(value)) return value.every(survivesJson)
  return !isRecord(value) || Object.values(value).every(survivesJson)
}

function isProblem(value: unknown): value is ConfigProblem {
  if (!isRecord(value) || (value["severity"] !== "error" && value["severity"] !== "warning")) return false
  return ["path", "message", "fix"].every((name) => typeof value[name] === "string")
}
