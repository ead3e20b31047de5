import { spawnSync } from "node:child_process"
import { lstatSync, readlinkSync } from "node:fs"
import { relative } from "node:path"

import { readRegularFile } from "../../base/regular-file.ts"
import { findSafeGit, NO_PROGRAMS } from "../safe-git.ts"

/** Whether a file is as git's index has it. `unclear`: git may have converted it, or cannot be asked. */
export type Origin = "git" | "unclear" | "other"

export interface TrackedFilesOptions {
  /** Where git is asked about files that are in none of the repositories. */
  readonly root: string
  readonly repositories: readonly string[]
  /** The variable `PATH`. */
  readonly searchPath: string
}

const TIMEOUT_MS = 5000
const MAX_FILE_BYTES = 5_000_000

/** Compares files with the index of the innermost repository that contains them. Git is asked once for each of these. */
export function originsOf(
  paths: readonly string[],
  { root, repositories, searchPath }: TrackedFilesOptions,
): ReadonlyMap<string, Origin> {
  const git = findSafeGit(searchPath)
  const repositoryOf = (path: string): string =>
    repositories
      .filter((directory) => path.startsWith(`${directory}/`))
      .toSorted((one, other) => other.length - one.length)[0] ?? root
  const ask = (repository: string, words: readonly string[]): string | undefined => {
    if (git === undefined) return undefined
    const { status, stdout } = spawnSync(
      git.program,
      ["-C", repository, ...NO_PROGRAMS, "--literal-pathspecs", ...words],
      { env: git.environment, timeout: TIMEOUT_MS, stdio: ["ignore", "pipe", "ignore"], encoding: "utf8" },
    )
    return status === 0 ? stdout : undefined
  }
  const found = new Map<string, Origin>()
  for (const [repository, files] of Map.groupBy(paths, repositoryOf)) {
    const names = files.map((path) => relative(repository, path))
    const listed = ask(repository, ["ls-files", "--stage", "-z", "--", ...names])
    const hashes = listed === undefined ? undefined : hashesByName(listed)
    for (const [index, path] of files.entries()) {
      const name = names[index] ?? ""
      const origin = hashes === undefined ? "unclear" : compare(path, hashes.get(name) ?? [])
      found.set(path, origin === "different" ? mayBeConverted(repository, name) : origin)
    }
  }
  return found

  function mayBeConverted(repository: string, name: string): Origin {
    const attributes = ask(repository, ["check-attr", "-z", ...CONVERTING, "--", name])
    const values = (attributes ?? "").split("\0").filter((_, index) => index % 3 === 2)
    return attributes === undefined || values.some((value) => !/^(?:unspecified|unset)$/u.test(value))
      ? "unclear"
      : "other"
  }
}

/** Attributes with which a file in the working tree differs from what git stores, apart from line breaks. */
const CONVERTING: readonly string[] = ["filter", "ident", "working-tree-encoding"]

/** Conflicts have several entries for one name. */
function hashesByName(listed: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>()
  for (const line of listed.split("\0")) {
    const [, hash, name] = /^\d+ ([\da-f]+) \d\t(.+)$/su.exec(line) ?? []
    if (hash !== undefined && name !== undefined) found.set(name, [...(found.get(name) ?? []), hash])
  }
  return found
}

function compare(path: string, hashes: readonly string[]): Origin | "different" {
  const [hash] = hashes
  try {
    const facts = lstatSync(path)
    // The index lists the files in it, of which there are too many here.
    if (facts.isDirectory()) return "unclear"
    if (hash === undefined) return "other"
    const bytes = facts.isSymbolicLink()
      ? readlinkSync(path, { encoding: "buffer" })
      : readRegularFile(path, { maxBytes: MAX_FILE_BYTES }).bytes
    const isListed = [bytes, withUnixBreaks(bytes)].some((content) => hashes.includes(blobHash(content, hash.length)))
    return isListed ? "git" : "different"
  } catch {
    // It is gone, too large or no file.
    return "unclear"
  }
}

/** As git stores a text that it converts. */
export function withUnixBreaks(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString("latin1").replaceAll("\r\n", "\n"), "latin1")
}

/** Git hashes a file with its length. The longer hash is that of repositories with SHA-256. */
function blobHash(content: Buffer, digits: number): string {
  return process
    .getBuiltinModule("node:crypto")
    .createHash(digits === 64 ? "sha256" : "sha1")
    .update(`blob ${content.length}\0`)
    .update(content)
    .digest("hex")
}
