import { relative } from "node:path"

import type { Writable } from "../project/contained-changes.ts"
import { effectOf, undo } from "./planted-files.ts"
import { stateOf } from "./file-state.ts"
import { originsOf, withUnixBreaks } from "../project/tracked-files.ts"

/**
 * Protected files that changed while a command let git update the working tree. Git may write them; a process that runs at the same time, or a
 * hook, may not.
 */
export interface WorkingTreeChanges {
  /** Undoes or reports what git did not write. Returns what happened, for the user. */
  judge(changes: readonly ChangedFile[]): readonly string[]
  /** A sentence about those that git changed since the last call; undefined when there are none. */
  takeByGit(): string | undefined
}

export interface ChangedFile {
  readonly path: string
  readonly kind: "new" | "changed" | "gone"
  /** What a file contained that is gone. */
  readonly content?: Buffer | undefined
  /** The clone that contains it, if the command made one. */
  readonly clone?: string | undefined
}

export interface WorkingTreeOptions {
  readonly root: string
  /** Those that were known before the command. */
  readonly repositories: readonly string[]
  /** What files contained that git removed from the working tree, for example into a stash. Grows. */
  readonly removed: Map<string, Buffer>
  /** The variable `PATH`, to find git. */
  readonly searchPath: string
  /** Whether no other command or program of Hermes ran in the project at the same time. */
  readonly isAlone: () => boolean
}

/** What a command that lets git update the working tree may do. */
interface UpdatingCommand {
  readonly writable: Writable
  /** New files stay and are reported, because the user has allowed everything. */
  readonly keepsNew?: true | undefined
  readonly treeLines?: readonly string[] | undefined
}

const MAX_NAMES = 8

export function createWorkingTreeChanges(
  { root, repositories, removed, searchPath, isAlone }: WorkingTreeOptions,
  { writable, keepsNew, treeLines = [] }: UpdatingCommand,
): WorkingTreeChanges {
  const byGit = new Set<string>()
  const judged = new Set<string>()
  return {
    judge: (changes) => {
      // A directory of commands for an agent may have instructions of another kind in it.
      const unjudged = changes.filter(({ path }) => !judged.has(path) && judged.add(path))
      const existing = unjudged.filter(({ kind }) => kind !== "gone")
      for (const { path, kind, content } of unjudged) {
        if (kind !== "gone") continue
        byGit.add(path)
        if (content !== undefined) removed.set(path, content)
      }
      if (existing.length === 0) return []
      const clones = existing.flatMap(({ clone }) => clone ?? [])
      const origins = originsOf(
        existing.map(({ path }) => path),
        { root, repositories: [...repositories, ...clones], searchPath },
      )
      const mayBeUntracked = isAlone() && treeLines.some((line) => RESTORES_UNTRACKED.test(line))
      return existing.flatMap(({ path, kind }) => {
        const origin = origins.get(path) ?? "unclear"
        if (origin === "git" || (kind === "new" && contains(path, removed.get(path)))) {
          byGit.add(path)
          return []
        }
        const isUndone = kind === "new" && origin === "other" && !mayBeUntracked && keepsNew !== true
        const text = isUndone ? undo(path, undefined, writable) : report(path, kind)
        return text === undefined ? [] : [text]
      })
    },
    takeByGit: () => {
      const names = [...byGit].map((path) => relative(root, path))
      byGit.clear()
      if (names.length === 0) return undefined
      const rest = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ""
      return `git changed ${names.slice(0, MAX_NAMES).join(", ")}${rest}. Agents follow or other programs execute what is in there.`
    },
  }
}

function contains(path: string, content: Buffer | undefined): boolean {
  const now = content === undefined ? undefined : stateOf(path)?.content
  return content !== undefined && now !== undefined && withUnixBreaks(now).equals(withUnixBreaks(content))
}

/** These also write files that are not in the index. */
const RESTORES_UNTRACKED = /\bgit\s+(?:stash|restore)\b/u

function report(path: string, kind: ChangedFile["kind"]): string {
  return `While git updated the working tree, ${path} ${kind === "new" ? "appeared" : "changed"}, ${effectOf(path)}, and it is not as in git's index. If you did not write it yourself, check it before you go on.`
}
