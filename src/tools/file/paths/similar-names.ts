import { basename, dirname, extname } from "node:path"

import type { FileSystem } from "../../../exec/workspace.ts"

/** Up to five similar names in the directory of a missing file. */
export async function similarFiles(target: string, files: FileSystem): Promise<Record<string, readonly string[]>> {
  try {
    const entries = await files.list(dirname(target))
    const names = similarNames(
      basename(target),
      entries.map((entry) => entry.name),
      extname(target),
    )
    return names.length === 0 ? {} : { similar_files: names }
  } catch {
    // The directory is missing as well, or may not be listed: there is nothing similar to offer.
    return {}
  }
}

/** Up to five names similar to the given one, best first. */
export function similarNames(wanted: string, names: readonly string[], extension: string): string[] {
  return names
    .map((name) => ({ name, score: score(wanted, name, extension) }))
    .filter(({ score: points }) => points > 0)
    .toSorted((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1))
    .slice(0, 5)
    .map(({ name }) => name)
}

function score(wanted: string, name: string, extension: string): number {
  const a = wanted.toLowerCase()
  const b = name.toLowerCase()
  if (a === b) return 100
  if (stem(a) === stem(b)) return 90
  if (b.startsWith(a) || a.startsWith(b)) return 70
  if (b.includes(a)) return 60
  if (a.includes(b) && b.length > 2) return 40
  if (extension !== "" && extname(name) === extension && sharedShare(a, b) >= 0.4) return 30
  return 0
}

function stem(name: string): string {
  const extension = extname(name)
  return extension === "" ? name : name.slice(0, -extension.length)
}

function sharedShare(a: string, b: string): number {
  const letters = new Set(a)
  const shared = [...new Set(b)].filter((letter) => letters.has(letter)).length
  return shared / Math.max(letters.size, 1)
}
