import { createHash } from "node:crypto"
import { lstatSync, readdirSync, readFileSync, realpathSync } from "node:fs"
import { isAbsolute, join, normalize, relative, sep } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { readRegularFile } from "../../base/regular-file.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import { SUPPORT_DIRECTORIES } from "./skill.ts"

/** The support files of a skill by directory, as paths relative to the skill. */
export type LinkedFiles = Readonly<Partial<Record<(typeof SUPPORT_DIRECTORIES)[number], readonly string[]>>>

const MAX_LINKED = 200
const MAX_VIEWED_BYTES = 1_048_576

export function linkedFiles(directory: string): LinkedFiles | null {
  const lists = SUPPORT_DIRECTORIES.flatMap((name): [string, readonly string[]][] => {
    const files = filesBelow(join(directory, name), { limit: MAX_LINKED }).map((path) => `${name}/${path}`)
    return files.length === 0 ? [] : [[name, files]]
  })
  return lists.length === 0 ? null : Object.fromEntries(lists)
}

/** The regular files below a directory, relative to it and sorted. Links are left out. */
export function filesBelow(directory: string, { limit }: { readonly limit: number }): readonly string[] {
  const found: string[] = []
  const visit = (folder: string, depth: number): void => {
    if (depth > 8 || found.length >= limit) return
    for (const entry of entriesOf(folder)) {
      if (found.length >= limit) return
      const path = join(folder, entry.name)
      if (entry.isDirectory()) visit(path, depth + 1)
      else if (entry.isFile()) found.push(relative(directory, path).split(sep).join("/"))
    }
  }
  visit(directory, 0)
  return found.toSorted()
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch {
    // It does not exist or cannot be read.
    return []
  }
}

/** A path inside a skill, as given by a model. Refuses what would leave the skill, by name or through a link. */
export function pathInSkill(directory: string, given: string): Result<string> {
  const path = normalize(given)
  if (given.trim() === "" || given.includes("\0")) return fail("the file name is empty")
  if (isAbsolute(given) || path === ".." || path.startsWith(`..${sep}`) || /^[A-Za-z]:/u.test(given))
    return fail(`${given} is outside the skill: pass a path relative to its directory`)
  const full = join(directory, path)
  try {
    if (!isInside(realpathSync(full), realpathSync(directory)))
      return fail(`${given} is a link that leaves the skill, so it is not opened`)
  } catch (error) {
    return isNotFound(error) ? fail(`the skill has no file ${given}`) : fail(`${given}: ${explainSystemError(error)}`)
  }
  return ok(full)
}

export type ViewedFile =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "binary"; readonly bytes: number }

/** Reads a file of a skill for the model. */
export function readSkillFile(path: string): Result<ViewedFile> {
  try {
    const stats = lstatSync(path)
    if (stats.isDirectory()) return fail("it is a directory; name one of its files")
    const { bytes } = readRegularFile(path, { maxBytes: MAX_VIEWED_BYTES })
    if (bytes.subarray(0, 8192).includes(0)) return ok({ kind: "binary", bytes: bytes.length })
    try {
      return ok({ kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) })
    } catch {
      return ok({ kind: "binary", bytes: bytes.length })
    }
  } catch (error) {
    return fail(explainSystemError(error))
  }
}

const MAX_HASHED_FILES = 5000

/**
 * Identifies the content of a skill: the first 16 hexadecimal digits of a SHA-256 over its paths and bytes. `files` are those that count, sorted;
 * all by default.
 */
export function contentHash(
  directory: string,
  files: readonly string[] = filesBelow(directory, { limit: MAX_HASHED_FILES }),
): string {
  const hash = createHash("sha256")
  for (const path of files) {
    hash.update(path)
    hash.update("\0")
    hash.update(readFileSync(join(directory, path)))
  }
  return hash.digest("hex").slice(0, 16)
}

/** The hash that the Python edition records for the skills it copies. */
export function pythonContentHash(directory: string): string {
  const hash = createHash("md5")
  for (const path of filesBelow(directory, { limit: MAX_HASHED_FILES })) {
    hash.update(path)
    hash.update(readFileSync(join(directory, path)))
  }
  return hash.digest("hex")
}
