import { isMap, isNode, isScalar, LineCounter, visit } from "yaml"
import type { Document, Pair } from "yaml"
import { isRecord } from "../../base/json.ts"
import type { ConfigProblem } from "../config-problem.ts"
import { settingsUnder } from "../settings.ts"

/** Keys that one mapping of the document has more than once. YAML uses the last value, which the user may not have seen. */
export function duplicateKeys(document: Document, text: string): readonly ConfigProblem[] {
  const lines = lineCounter(text)
  const problems: ConfigProblem[] = []
  visit(document, {
    Map: (_key, map, ancestors) => {
      const parents = ancestors.flatMap(keyOf)
      for (const [key, pairs] of Map.groupBy(map.items, nameOf)) {
        if (pairs.length < 2 || key === MERGE) continue
        problems.push(problemOf([...parents, key].join("."), pairs, lines))
      }
    },
  })
  return problems
}

function problemOf(path: string, pairs: readonly Pair[], lines: LineCounter): ConfigProblem {
  const where = pairs.map(({ key }) => lines.linePos(isNode(key) ? (key.range?.[0] ?? 0) : 0).line)
  const message = `\`${path}\` is set more than once (lines ${where.join(", ")})`
  if (setsRestriction(path, pairs))
    return { severity: "error", path, message, fix: "keep one of them", blocksStart: true }
  return { severity: "warning", path, message, fix: "the last value is used, remove the others" }
}

/** True when one of the values is, or contains, a setting that restricts the agent. */
function setsRestriction(path: string, pairs: readonly Pair[]): boolean {
  const [section = path] = path.split(".")
  return settingsUnder(section).some(([key, { strict }]) => {
    if (strict !== true && !RESTRICTIONS.test(key)) return false
    if (key === path || path.startsWith(`${key}.`)) return true
    if (!key.startsWith(`${path}.`)) return false
    const inside = key.slice(path.length + 1).split(".")
    return pairs.some(({ value }) => isMap(value) && value.hasIn(inside))
  })
}

/** Settings whose default is safe, so that an invalid value does not stop the start, but a value that the user did not intend must. */
const RESTRICTIONS = /^(?:approvals|security|terminal\.sandbox)/u

const MERGE = "<<"

function nameOf({ key }: Pair): string {
  // The library represents a merge key by a symbol.
  if (isScalar(key) && typeof key.value === "symbol") return MERGE
  return isScalar(key) ? String(key.value) : String(key)
}

function keyOf(node: unknown): readonly string[] {
  if (!isRecord(node) || isMap(node) || !("key" in node)) return []
  return isScalar(node["key"]) ? [String(node["key"].value)] : []
}

function lineCounter(text: string): LineCounter {
  const lines = new LineCounter()
  lines.addNewLine(0)
  for (const { index } of text.matchAll(/\n/gu)) lines.addNewLine(index + 1)
  return lines
}
