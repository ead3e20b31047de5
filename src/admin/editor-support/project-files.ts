import { readdir } from "node:fs/promises"
import { join, resolve } from "node:path"

import type { Clock } from "../../base/clock.ts"
import { keepFor } from "../../base/kept-value.ts"
import type { Environment } from "../../config/environment.ts"
import { listFilesBelow } from "../../exec/list-files.ts"

const KEPT_MS = 5000
const MAX_FILES = 5000

/** The files of a directory for completion, without ignored ones. The list is kept for five seconds. */
export function createProjectFiles(options: {
  readonly environment: Environment
  readonly clock: Clock
}): (directory: string) => Promise<readonly string[]> {
  const { clock } = options
  // No signal of a caller: the next key cancels its request, but the list is for that key too.
  const load = (directory: string): Promise<readonly string[]> =>
    listFilesBelow(directory, {
      environment: options.environment.toObject(),
      limit: MAX_FILES,
      signal: AbortSignal.timeout(KEPT_MS),
    })
  return keepFor(KEPT_MS, { clock, load })
}

/** The names in a directory; those of directories end with `/`. Empty when it cannot be read. */
export async function directoryNames(
  path: string,
  { cwd, userHome }: { readonly cwd: string; readonly userHome: string },
): Promise<readonly string[]> {
  const expanded = /^~(?=\/|$)/u.test(path) ? join(userHome, path.slice(1)) : resolve(cwd, path)
  try {
    const entries = await readdir(expanded, { withFileTypes: true })
    return entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name)).toSorted()
  } catch {
    // Missing, no directory, or not readable: there is nothing to offer.
    return []
  }
}
