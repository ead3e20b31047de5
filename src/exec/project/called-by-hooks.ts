import { statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"

import { readRegularText } from "../../base/regular-file.ts"
import { isOutputDirectory } from "../checkpoints/excluded-names.ts"
import { gitConfigsOf, hooksIn } from "./git-repositories.ts"

const MAX_HOOKS = 40
const MAX_HOOK_BYTES = 64_000

/**
 * Returns the files of a project that the hooks of its repository start or source, as `exec sh ./check.sh` does: git executes them with the
 * next commit. Programs in downloaded directories, and what the files call in turn, are left out. `named` are the paths that settings of git
 * name, among them directories of hooks.
 */
export function calledByHooks(directory: string, named: readonly string[]): readonly string[] {
  const ofGit = gitConfigsOf(directory).map((config) => join(dirname(config), "hooks"))
  const hooks = [...new Set([...ofGit, join(directory, ".husky"), ...named])].flatMap((path) =>
    hooksIn(path).map((name) => join(path, name)),
  )
  const found = hooks
    .slice(0, MAX_HOOKS)
    .flatMap((hook) => startedFiles(readRegularText(hook, { maxBytes: MAX_HOOK_BYTES }) ?? ""))
    .map((word) => resolve(directory, word))
    .filter((path) => isProjectFile(path, directory))
  return [...new Set(found)]
}

/** A path in the place of a program, or any file behind an interpreter. Hooks run at the top of the working tree. */
function startedFiles(hook: string): readonly string[] {
  return hook
    .split("\n")
    .filter((line) => !/^\s*#/u.test(line))
    .flatMap((line) => [...line.matchAll(STARTED)].flatMap(([, behind, direct]) => behind ?? direct ?? []))
}

const INTERPRETERS =
  "(?:ba|da|k|z|fi)?sh|source|\\.|node|deno run|bun(?: run)?|tsx|ts-node|python[\\d.]*|ruby|perl|php|Rscript|lua"
const STARTED = new RegExp(
  String.raw`(?:^|[\s;&|({!"'\x60/])(?:${INTERPRETERS})\s+(?:-[\w-]+\s+)*["']?([\w.@+][\w.@+/-]*)` +
    String.raw`|(?:^|[;&|({!\x60]|\b(?:exec|then|do|else|if|command|env|time|nohup)\s)\s*["']?((?:\.{1,2}\/)*[\w.@+-]+\/[\w.@+/-]+|\.\/[\w.@+-]+)`,
  "gu",
)

function isProjectFile(path: string, directory: string): boolean {
  if (!path.startsWith(`${directory}/`)) return false
  const names = path.slice(directory.length + 1).split("/")
  if (names[0] === ".git" || names.slice(0, -1).some((name) => isOutputDirectory(name))) return false
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
  } catch {
    // A part of the path is a file, or not accessible: commands cannot write it either.
    return false
  }
}
