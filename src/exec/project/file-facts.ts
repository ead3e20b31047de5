import { lstatSync, statSync } from "node:fs"
import type { Stats } from "node:fs"

/** Facts about a file, a directory or a link itself. Undefined when there is none, or a part of the path is a file or not accessible. */
export function factsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

/** The same for what a link leads to. */
export function targetFactsOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
