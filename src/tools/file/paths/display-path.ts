import { relative } from "node:path"

import { isInside } from "../../../base/is-inside.ts"
import type { Workspace } from "../../../exec/workspace.ts"
import type { FileTracker } from "../../../toolkit/ports/files.ts"

/** The absolute path of a path that was given relative. */
export function resolvedField(given: string, target: string): { readonly resolved_path?: string } {
  return given === target ? {} : { resolved_path: target }
}

/** Warns that a relative path was resolved against a shell directory outside the session's workspace root. */
export function outsideRootWarning(
  given: string,
  target: string,
  { workspace, tracker }: WarningContext,
): string | undefined {
  const root = tracker?.workspaceRoot
  const cwd = workspace.cwd()
  if (root === undefined || cwd === root || given.startsWith("/") || given.startsWith("~")) return undefined
  return isInside(target, root)
    ? undefined
    : `${given} was resolved against ${cwd}, the shell's directory, and is outside ${root}`
}

interface WarningContext {
  readonly workspace: Workspace
  readonly tracker: FileTracker | undefined
}

/** A path for display: relative to the working directory where it is inside that. */
export function displayPath(path: string, workspace: Workspace): string {
  const local = relative(workspace.cwd(), path)
  return local !== "" && isInside(path, workspace.cwd()) ? local : path
}
