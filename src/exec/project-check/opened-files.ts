import { readdirSync } from "node:fs"
import { basename, dirname, join, relative } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { changedSettings, isAddressKey } from "./changed-git-settings.ts"
import { factsOf } from "../project/file-facts.ts"
import { replaceFile, unusedName } from "../project/contained-changes.ts"
import type { Writable } from "../project/contained-changes.ts"
import { undo } from "./planted-files.ts"
import { noticeText } from "./notice-text.ts"

export interface OpenedFilesOptions {
  /** Files and directories that the user's approval opened for the command. */
  readonly opened: readonly string[]
  /** The command lines. */
  readonly lines: readonly string[]
  /** Everything stays and is only reported, because the user has allowed everything. */
  readonly keepsAll: boolean
}

/**
 * Remembers hooks and git settings that are open for one command. Other programs on the same line can write them too, for example the
 * install script of a package, so that `check` reports the hooks, and undoes what the approved tool does not write.
 */
export function rememberOpenedFiles({ opened, lines, keepsAll }: OpenedFilesOptions): {
  check(): readonly string[]
} {
  const configs = opened
    .filter((path) => basename(path) === "config")
    .map((path) => [path, readRegularText(path) ?? ""] as const)
  const directories = opened.filter((path) => HOOK_DIRECTORY.test(path))
  const before = new Map(directories.flatMap(filesIn))
  const mayWriteScripts = lines.some((line) => WRITES_SCRIPTS.test(line))
  return {
    check: () => {
      const texts = configs.flatMap(([path, text]) => checkConfig(path, { before: text, directories, keepsAll }))
      const written: string[] = []
      for (const [path, text] of directories.flatMap(filesIn)) {
        const known = before.get(path)
        if (known === text) continue
        const isScript = basename(dirname(path)) === ".husky" && !mayWriteScripts && !keepsAll
        if (isScript) texts.push(...restore(path, known, text))
        else written.push(path)
      }
      return [...texts, ...(written.length === 0 ? [] : [report(written)])].map(noticeText)
    },
  }
}

const HOOK_DIRECTORY = /\/(?:\.husky|\.git\/hooks)$/u
/** These write the scripts of the project; installing husky writes only its own directory `_`. */
const WRITES_SCRIPTS = /\bhusky\s+(?:add|set|init)\b/u
const MAX_FILES = 200
const MAX_BYTES = 200_000
const MAX_NAMES = 8

/** The texts of the files in a directory and its subdirectories. */
function filesIn(directory: string): readonly (readonly [path: string, text: string])[] {
  const pending = [directory]
  const found: (readonly [string, string])[] = []
  for (let path = pending.pop(); path !== undefined && found.length < MAX_FILES; path = pending.pop()) {
    const facts = factsOf(path)
    if (facts?.isDirectory() === true) pending.push(...namesIn(path).slice(0, MAX_FILES))
    else if (facts !== undefined && !path.endsWith(".sample") && !path.includes(".from-sandbox"))
      found.push([path, facts.isFile() && facts.size <= MAX_BYTES ? (readRegularText(path) ?? "") : `${facts.ctimeMs}`])
  }
  return found
}

function namesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory).map((name) => join(directory, name))
  } catch {
    // It cannot be read.
    return []
  }
}

/** A tool for hooks may set where they are, nothing else with which git starts programs. */
function checkConfig(
  path: string,
  {
    before,
    directories,
    keepsAll,
  }: Pick<OpenedFilesOptions, "keepsAll"> & {
    readonly before: string
    readonly directories: readonly string[]
  },
): readonly string[] {
  const now = readRegularText(path)
  if (now === undefined || now === before) return []
  const [, hooks = ""] = /^\s*hookspath\s*=\s*"?(.*?)"?\s*$/imu.exec(now) ?? []
  const isHusky = directories.some((directory) => basename(directory) === ".husky")
  const mayMoveHooks = isHusky && HUSKY_HOOKS.test(hooks)
  const changed = changedSettings(before, now, {
    // The other commands that open the file are those of git, and those that name it.
    isExpected: (key) => (key === "core.hookspath" ? mayMoveHooks : !isHusky && isAddressKey(key)),
  })
  if (changed === undefined) return []
  const what = `While an approved command ran, ${path} got entries with which git starts programs or contacts servers and that the approved tool does not write (${changed.keys.join(", ")}).`
  if (keepsAll) return [`${what} Check the file before you use git there.`]
  replaceFile(path, changed.restored, { writable: directoryOf(path) })
  return [`${what} Hermes restored them.`]
}

const HUSKY_HOOKS = /^(?:\.\/)?\.husky(?:\/_)?\/?$/u

/** Puts the earlier text back. What was written is kept beside it. */
function restore(path: string, known: string | undefined, text: string): readonly string[] {
  if (known === undefined) {
    const undone = undo(path, undefined, directoryOf(path))
    return undone === undefined ? [] : [undone]
  }
  const mode = factsOf(path)?.mode ?? 0o644
  const aside = unusedName(`${path}.from-sandbox`)
  const writable = directoryOf(path)
  replaceFile(aside, text, { mode: 0o600, writable })
  replaceFile(path, known, { mode: mode & 0o777, writable })
  return [
    `While an approved command ran, the hook ${path} was changed, which the approved tool does not do. Hermes restored it and kept the new text as ${basename(aside)}.`,
  ]
}

/** What the user opened has no links in its path. */
function directoryOf(path: string): Writable {
  return { directories: [dirname(path)], except: [] }
}

function report(paths: readonly string[]): string {
  const base = dirname(dirname(paths[0] ?? ""))
  const names = paths.slice(0, MAX_NAMES).map((path) => relative(base, path))
  const rest = paths.length > MAX_NAMES ? ` and ${paths.length - MAX_NAMES} more` : ""
  return `The approved command wrote hooks that git runs, in ${base}: ${names.join(", ")}${rest}. Every program that it started could write them; check them before you commit.`
}
