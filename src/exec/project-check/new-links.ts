import { join } from "node:path"

import { realPath } from "../../base/real-path.ts"
import { isInReach } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { undo } from "./planted-files.ts"
import { executedIn } from "../project/project-index.ts"
import type { ProjectSearch } from "../project/project-index.ts"
import { isChangedSince } from "../project/project-protection.ts"

interface NewLinksOptions {
  readonly root: string
  /** When the command started, in milliseconds since 1970. */
  readonly startedMs: number
  readonly writable: Writable
  /** What commands create stays and is reported. */
  readonly keepsNew?: true | undefined
}

/**
 * Undoes new links to directories outside the project that commands can write, such as those for temporary files, if programs would execute
 * something there. Searches follow links inside the project.
 */
export function checkNewLinks(
  { links }: ProjectSearch,
  { root, startedMs, writable, keepsNew }: NewLinksOptions,
): readonly string[] {
  return links.flatMap((link) => {
    if (!isChangedSince(link, startedMs)) return []
    const target = realPath(link)
    if (target === root || target.startsWith(`${root}/`) || !isInReach(join(target, "name"), writable)) return []
    const names = executedIn(target)
    if (names.length === 0) return []
    if (keepsNew === true)
      return [
        `While a program in the sandbox ran, ${link} appeared, a link to a directory with ${names.join(", ")}. Check it before you use it.`,
      ]
    return undo(link, undefined, writable) ?? []
  })
}
