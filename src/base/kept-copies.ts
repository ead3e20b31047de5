import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"

/** The first copy, made before later ones could only repeat the damage, and this many of the newest. */
const NEWEST_KEPT = 4

/**
 * Writes a copy to `path`, or to `path-2`, `path-3` … when earlier copies exist. Returns its path, or that of an earlier copy with the
 * same contents. Of many copies, the first and the newest are kept. Only the owner can read them.
 */
export function keepNumberedCopy(bytes: Uint8Array, path: string): string {
  const copies = numberedCopies(path)
  const same = copies.find((copy) => readFileSync(copy).equals(bytes))
  if (same !== undefined) return same
  const last = copies.at(-1)
  const target = last === undefined ? path : `${path}-${numberOf(last, path) + 1}`
  writeFileSync(target, bytes, { mode: 0o600, flag: "wx" })
  for (const copy of surplusCopies([...copies, target])) rmSync(copy, { force: true })
  return target
}

/** The copies between the first and the newest, of a list that is sorted by age. */
export function surplusCopies(copies: readonly string[]): readonly string[] {
  return copies.slice(1, Math.max(1, copies.length - NEWEST_KEPT))
}

/** `path`, or with a number before the extension when it exists: two copies can be made within a second. */
export function unusedPath(path: string, extension = ""): string {
  for (let number = 1; ; number += 1) {
    const candidate = number === 1 ? `${path}${extension}` : `${path}-${number}${extension}`
    if (!existsSync(candidate)) return candidate
  }
}

function numberedCopies(path: string): readonly string[] {
  const directory = dirname(path)
  return readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((copy) => copy === path || (copy.startsWith(`${path}-`) && /^-\d+$/.test(copy.slice(path.length))))
    .toSorted((a, b) => numberOf(a, path) - numberOf(b, path))
}

function numberOf(copy: string, path: string): number {
  return copy === path ? 1 : Number(basename(copy).slice(basename(path).length + 1))
}
