import { join } from "node:path"

import { takeCodePoints } from "../../../base/text.ts"
import type { FileSystem } from "../../../exec/workspace.ts"
import type { ToolContext } from "../../../toolkit/tool.ts"
import { holdsSecrets } from "../paths/refused-path.ts"
import { fileChunks, readLineWindow } from "../read/line-window.ts"
import type { MatchLine } from "./parse-output.ts"
import type { SearchScope } from "./search-command.ts"

/** How much of a line is compared; the results show no more. */
const MAX_COMPARED_CHARS = 500

export type NamedMatch = MatchLine & { readonly name: string }

/**
 * Removes matches that are not in the files which were judged. A search program opens files by name, so another program could have
 * replaced one with a link at that moment. Everything that is shown is therefore found again through the judged path.
 */
export async function confirmMatches(
  matches: readonly NamedMatch[],
  scope: SearchScope,
  context: ToolContext,
): Promise<readonly NamedMatch[]> {
  const judged = await judgedFiles(scope, context)
  if (judged === undefined) return matches
  const byName = Map.groupBy(matches, ({ name }) => name)
  const confirmed = await Promise.all(
    Array.from(byName, async ([name, found]) => await confirmedLines(judged.pathOf(name), { found, judged, context })),
  )
  const kept = new Set(confirmed.flat())
  return matches.filter((match) => kept.has(match))
}

/** Removes names that are not regular files below the judged directory. */
export async function confirmNames(
  names: readonly string[],
  scope: SearchScope,
  context: ToolContext,
): Promise<readonly string[]> {
  const judged = await judgedFiles(scope, context)
  if (judged === undefined) return names
  const kept = await Promise.all(names.map(async (name) => await isFile(judged.pathOf(name), judged)))
  return names.filter((_, index) => kept[index] === true)
}

interface JudgedFiles {
  pathOf(name: string): string
  /** File access at exactly this path: it fails when a link is in it. */
  at(path: string): FileSystem
}

/** Undefined where the files belong to another machine, which has its own boundary. */
async function judgedFiles(scope: SearchScope, { workspace }: ToolContext): Promise<JudgedFiles | undefined> {
  const { withJudgedPaths } = workspace.files
  if (withJudgedPaths === undefined) return undefined
  const root = await workspace.files.realPath(scope.oneFile ? join(scope.directory, scope.target) : scope.directory)
  return {
    pathOf: (name) => (scope.oneFile ? root : join(root, name)),
    at: (path) => withJudgedPaths([{ given: path, literal: path, real: path, entry: path }]),
  }
}

async function isFile(path: string, judged: JudgedFiles): Promise<boolean> {
  try {
    return (await judged.at(path).stat(path))?.kind === "file"
  } catch {
    // A part of the path is a link now, or may not be accessed.
    return false
  }
}

interface FoundLines {
  readonly found: readonly NamedMatch[]
  readonly judged: JudgedFiles
  readonly context: ToolContext
}

async function confirmedLines(path: string, { found, judged, context }: FoundLines): Promise<readonly NamedMatch[]> {
  if (holdsSecrets(path, context.ports.files?.directories)) return []
  const files = judged.at(path)
  const numbers = found.map(({ line }) => line)
  const [first, last] = [Math.min(...numbers), Math.max(...numbers)]
  try {
    const facts = await files.stat(path)
    if (facts?.kind !== "file") return []
    const { lines, from } = await readLineWindow(fileChunks(path, facts, { files, signal: context.signal }), {
      first,
      count: last - first + 1,
      margin: 0,
      maxLineChars: 2 * MAX_COMPARED_CHARS,
      maxCountedBytes: 0,
    })
    return found.filter(({ line, content }) => comparable(lines[line - from] ?? "") === comparable(content))
  } catch {
    // A part of the path is a link now, or the file may not be read.
    return []
  }
}

/** Search programs differ in what they print for a byte order mark and for bytes that are not UTF-8. */
function comparable(line: string): string {
  return takeCodePoints(line.replaceAll(/[\u{FEFF}\u{FFFD}\r]/gu, ""), MAX_COMPARED_CHARS)
}
