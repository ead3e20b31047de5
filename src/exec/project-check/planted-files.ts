import { readdirSync } from "node:fs"
import { basename, dirname, join } from "node:path"

import { errorMessage } from "../../base/system-error.ts"
import { changedSettings } from "./changed-git-settings.ts"
import { renameAside, replaceFile, restoreLink, unusedName } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { factsOf } from "../project/file-facts.ts"
import type { FileState } from "./file-state.ts"
import { isGitConfig, isRebase } from "./file-state.ts"
import { executingKeys, executingSteps, hasHooks } from "../project/git-repositories.ts"
import { hostileRepository } from "./hostile-repository.ts"
import { isInstruction } from "../project/project-protection.ts"

/** Restores a file that was changed through another of its names. What was written is kept beside it. */
export function restoreLinked(
  path: string,
  {
    before,
    now,
    writable,
  }: { readonly before: FileState | undefined; readonly now: FileState; readonly writable: Writable },
): string | undefined {
  const { linked } = before ?? {}
  if (linked === undefined || now.linked === undefined || now.linked.bytes.equals(linked.bytes)) return undefined
  const aside = unusedName(`${path}.from-sandbox`)
  if (!replaceFile(aside, now.linked.bytes, { mode: 0o600, writable })) return undefined
  replaceFile(path, linked.bytes, { mode: linked.mode, writable })
  return `While a program in the sandbox ran, ${path}, which other programs execute or obey, was changed through another name of the same file. Hermes restored it and kept the new text as ${basename(aside)}.`
}

const MAX_ENTRIES = 500

/**
 * Renames a new file with several names, also one in a new directory: once it is protected, a command could still change it through its
 * other name. Renaming is safe even if a process exchanges directories at the same moment, in contrast to writing a copy.
 */
export function renameLinked(path: string, writable: Writable): readonly string[] {
  const pending = [path]
  const texts: string[] = []
  for (let count = 0; count < MAX_ENTRIES; count += 1) {
    const next = pending.pop()
    if (next === undefined) break
    const facts = factsOf(next)
    if (facts?.isDirectory() === true)
      pending.push(
        ...namesIn(next)
          .slice(0, MAX_ENTRIES)
          .map((name) => join(next, name)),
      )
    if (facts?.isFile() !== true || facts.nlink < 2 || next.includes(".from-sandbox")) continue
    const aside = renameAside(next, writable)
    if (aside === undefined) continue
    texts.push(
      `A command created ${next}, which other programs execute or obey, as a second name of another file. Hermes renamed it to ${aside}.`,
    )
  }
  return texts
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory)
  } catch {
    // It is gone, or cannot be read.
    return []
  }
}

/** Renames what appeared, so that nothing executes it and nothing is lost, and puts a link back. A file that was changed from outside stays. */
export function undo(path: string, before: FileState | undefined, writable: Writable): string | undefined {
  if (before !== undefined && before.target === undefined) return undefined
  let aside: string | undefined
  try {
    aside = renameAside(path, writable)
    if (aside === undefined) return undefined
    if (before?.target !== undefined) restoreLink(path, before.target, writable)
  } catch (error) {
    return `While a program in the sandbox ran, ${path} appeared, ${effectOf(path)}, and Hermes could not rename it: ${errorMessage(error)}. Check it.`
  }
  return `While a program in the sandbox ran, ${path} appeared, ${effectOf(path)}. Hermes renamed it to ${aside}; rename it back if you want it.`
}

export function effectOf(path: string): string {
  return isInInstructions(path) ? "whose text agents follow in later sessions" : "which other programs execute"
}

/** The file, or a directory around it. */
function isInInstructions(path: string): boolean {
  return isInstruction(path) || (dirname(path) !== path && isInInstructions(dirname(path)))
}

/**
 * A git configuration that got other programs or addresses is restored, except for what `gitLines` name, which only run git; of other files
 * the user is informed when they are new.
 */
export function judge(
  path: string,
  before: FileState | undefined,
  {
    now,
    writable,
    gitLines,
  }: { readonly now: FileState; readonly writable: Writable; readonly gitLines: readonly string[] },
): string | undefined {
  if (isRebase(path)) return judgeRebase(path, before, { now, writable })
  // Another directory took its name, together with the one around it.
  if (basename(path) === "hooks" && before?.target === undefined && hasHooks(join(dirname(path), "config")))
    return undo(path, undefined, writable)
  if (!isGitConfig(path)) {
    return before === undefined || before.target !== undefined
      ? `While a program in the sandbox ran, ${path} appeared, which other programs execute or obey. Check it before you use it.`
      : undefined
  }
  if (before?.config === undefined) {
    const added = executingKeys(now.config ?? "")
    return added.length === 0 ? undefined : hostileRepository(path, added, writable)
  }
  // Something else than a file has its name now.
  const changed =
    now.config === undefined
      ? { keys: ["all"], areAddresses: false, restored: before.config }
      : changedSettings(before.config, now.config, { gitLines })
  if (changed === undefined) return undefined
  try {
    replaceFile(path, changed.restored, { writable })
  } catch (error) {
    return `While a program in the sandbox ran, ${path} changed, and Hermes could not restore it: ${errorMessage(error)}. Check it before you use git there.`
  }
  return `While a program in the sandbox ran, ${path} got ${changed.areAddresses ? OTHER_ADDRESSES : OTHER_PROGRAMS} (${changed.keys.join(", ")}). Hermes restored them; if you changed them yourself, set them again.`
}

const OTHER_ADDRESSES = "other addresses to which git pushes or from which it fetches"
const OTHER_PROGRAMS = "entries with which git starts programs or contacts other servers"

/** New steps that run commands become comments: the user would run them outside the sandbox by continuing the rebase. */
function judgeRebase(
  path: string,
  before: FileState | undefined,
  { now, writable }: { readonly now: FileState; readonly writable: Writable },
): string | undefined {
  // Git creates no such link, and follows one.
  if (now.target !== undefined && before?.target === undefined) return undo(path, undefined, writable)
  const known = executingSteps(before?.config ?? "")
  const text = now.config ?? ""
  const added = executingSteps(text).filter((step) => !known.includes(step))
  if (added.length === 0) return undefined
  const lines = text.split("\n").map((line) => (added.includes(line.replace(/\r$/u, "")) ? `# ${line}` : line))
  replaceFile(path, lines.join("\n"), { writable })
  return `While a program in the sandbox ran, the rebase in ${dirname(path)} got steps that run commands (${added.join("; ")}). Hermes turned them into comments; check them before you continue the rebase.`
}
