import { isUtf8 } from "node:buffer"
import { readdirSync } from "node:fs"
import { join } from "node:path"

import { readRegularFile, readRegularText } from "../../base/regular-file.ts"
import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { targetFactsOf } from "./file-facts.ts"
import { gitConfigsOf, gitDirectoryOf } from "./git-repositories.ts"
import { submodulesInIndex } from "./git-index-file.ts"
import { showsNextChange } from "./time-of-change.ts"

/** Git reads larger ones, in a process of its own. */
const MAX_BYTES = 8_000_000

/**
 * The submodules that the index of a repository lists. `git status` starts git in each of them, with the settings of the directory there,
 * wherever it is.
 */
export interface ListedSubmodules {
  /** Below the top of the working tree. */
  readonly paths: readonly string[]
  /** The paths that are not valid UTF-8. */
  readonly undecodable: readonly Buffer[]
  /** Why the index cannot be read. */
  readonly problem?: string
}

/** An aborted lookup is not remembered. */
export type SubmoduleLookup = (directory: string, signal?: AbortSignal) => Promise<ListedSubmodules>

const NONE: ListedSubmodules = { paths: [], undecodable: [] }

/** Reads an index again only when it has changed: that of a large repository takes long. `path` has the directories of programs. */
export function createSubmoduleLookup(path: string): SubmoduleLookup {
  const known = new Map<string, { readonly identity: string; readonly listed: ListedSubmodules }>()
  return async (directory, signal) => {
    const gitDirectory = gitDirectoryOf(directory)
    const index = join(gitDirectory, "index")
    const facts = targetFactsOf(index)
    if (facts?.isFile() !== true) return NONE
    const [config = ""] = gitConfigsOf(directory)
    const own = [index, config].map(versionOf).join(" ")
    const before = known.get(index)
    if (before?.identity === `${own} ${sharedIndexes(gitDirectory)}`) return before.listed
    const listed = await read({ gitDirectory, config, size: facts.size, path, signal })
    // Git sets the times of a shared index that it reads.
    const identity = `${own} ${sharedIndexes(gitDirectory)}`
    if (signal?.aborted !== true && showsNextChange(facts.ctimeMs)) known.set(index, { identity, listed })
    return listed
  }
}

/** A split index has a part that is shared. Git does not compare its content with anything. */
function sharedIndexes(gitDirectory: string): string {
  try {
    return readdirSync(gitDirectory)
      .filter((name) => name.startsWith("sharedindex."))
      .map((name) => versionOf(join(gitDirectory, name)))
      .join(" ")
  } catch {
    // It is gone, or cannot be read.
    return ""
  }
}

function versionOf(path: string): string {
  const facts = targetFactsOf(path)
  return facts === undefined ? "-" : `${facts.ino} ${facts.ctimeMs} ${facts.size}`
}

interface IndexLocation {
  readonly gitDirectory: string
  readonly config: string
  readonly size: number
  readonly path: string
  readonly signal: AbortSignal | undefined
}

async function read(location: IndexLocation): Promise<ListedSubmodules> {
  const listed = readHere(location) ?? (await askGit(location))
  if (!listed.ok) return { ...NONE, problem: listed.error }
  return {
    paths: listed.value.filter(isUtf8).map((bytes) => bytes.toString("utf8")),
    undecodable: listed.value.filter((bytes) => !isUtf8(bytes)),
  }
}

/** Undefined where git has to read it. */
function readHere({ gitDirectory, config, size }: IndexLocation): Result<readonly Buffer[]> | undefined {
  // The setting says which hashes an index has.
  if (size > MAX_BYTES || /objectformat/iu.test(readRegularText(config) ?? "")) return undefined
  try {
    const found = submodulesInIndex(readRegularFile(join(gitDirectory, "index"), { maxBytes: MAX_BYTES }).bytes)
    return found === undefined ? undefined : ok(found)
  } catch {
    // It cannot be read, or has just been replaced.
    return undefined
  }
}

async function askGit({ gitDirectory, path, signal }: IndexLocation): Promise<Result<readonly Buffer[]>> {
  const { listSubmodules } = await import("./git-listed-submodules.ts")
  return await listSubmodules(gitDirectory, { path, signal })
}
