import { readdir } from "node:fs/promises"
import { join } from "node:path"

import { findTrustedProgram } from "../base/find-program.ts"
import { spawnProgram } from "./run-program.ts"

export interface ListFilesOptions {
  readonly environment: Readonly<Record<string, string>>
  /** No more files than this are returned. */
  readonly limit: number
  readonly signal: AbortSignal
  /** Finds a program on the PATH; tests pass another. */
  readonly find?: (name: string, path: string) => string | undefined
}

/**
 * The files below a directory of this machine, relative to it, with `/`. ripgrep leaves out what the project ignores; without it,
 * hidden directories and installed packages are left out.
 */
export async function listFilesBelow(directory: string, options: ListFilesOptions): Promise<readonly string[]> {
  const { find = findTrustedProgram } = options
  const ripgrep = find("rg", options.environment["PATH"] ?? "")
  const listed = ripgrep === undefined ? undefined : await listWithRipgrep(ripgrep, directory, options)
  return listed ?? (await walk(directory, options))
}

async function listWithRipgrep(
  program: string,
  directory: string,
  { environment, limit, signal }: ListFilesOptions,
): Promise<readonly string[] | undefined> {
  if (signal.aborted) return []
  const files: string[] = []
  const decoder = new TextDecoder()
  let rest = ""
  // A project cannot choose options of ripgrep, for example a preprocessor.
  const spawned = spawnProgram([program, "--no-config", "--files", "--hidden", "--null", "--glob", "!.git"], {
    environment,
    cwd: directory,
    onOutput: (chunk) => {
      const names = (rest + decoder.decode(chunk, { stream: true })).split("\0")
      rest = names.pop() ?? ""
      files.push(...names)
      if (files.length >= limit) spawned.kill()
    },
  })
  const kill = (): void => {
    spawned.kill()
  }
  signal.addEventListener("abort", kill, { once: true })
  const { notStarted } = await spawned.exit
  signal.removeEventListener("abort", kill)
  return notStarted === undefined ? files.slice(0, limit).map(withSlashes).toSorted() : undefined
}

/** Level by level, so that in a large tree the files near the top are found. */
async function walk(directory: string, { limit, signal }: ListFilesOptions): Promise<readonly string[]> {
  const files: string[] = []
  let level = [""]
  while (level.length > 0 && files.length < limit && !signal.aborted) {
    const next: string[] = []
    for (const folder of level) {
      if (files.length >= limit || signal.aborted) break
      for (const entry of await entriesOf(join(directory, folder))) {
        const path = folder === "" ? entry.name : `${folder}/${entry.name}`
        if (entry.isFile()) files.push(path)
        else if (entry.isDirectory() && !entry.name.startsWith(".") && entry.name !== "node_modules") next.push(path)
      }
    }
    level = next
  }
  return files.slice(0, limit).toSorted()
}

async function entriesOf(path: string) {
  try {
    return await readdir(path, { withFileTypes: true })
  } catch {
    // Not readable, or just removed.
    return []
  }
}

function withSlashes(path: string): string {
  return process.platform === "win32" ? path.replaceAll("\\", "/") : path
}
