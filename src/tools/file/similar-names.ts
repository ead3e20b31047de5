import { extname } from "node:path"

/** Up to five names of a directory that a person may have meant, best first. */
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
