import { posix } from "node:path"
import type { ShellWord } from "../shell/understood-command.ts"
import { absolutePath, linkInRealDirectory, pathForms, withoutTrailingSlash } from "./command-paths.ts"
import type { CommandFacts } from "./command-verdict.ts"
import type { Invocation } from "./invocation.ts"
import { componentGlob, hasGlob, pathGlob } from "./shell-glob.ts"

/** A directory whose loss cannot be repaired: the whole disk, a directory of the system, or the user's home. */
export type ProtectedDirectory = "root" | "system" | "home"

/** The protected directory that a path names, that its pattern can match, or whose whole content its pattern matches. */
export function protectedDirectory(call: Invocation, word: ShellWord): ProtectedDirectory | undefined {
  const { command, facts } = call
  if (command.source === "remote") return undefined
  const forms = deletesLinkItself(word)
    ? [absolutePath(word, command.directory), linkInRealDirectory(word, command.directory, facts)]
    : pathForms(word, command.directory, facts)
  for (const path of forms) {
    const found = path === undefined ? undefined : classify(path, word.pattern, facts)
    if (found !== undefined) return found
  }
  return namesComputedHome(word, facts) ? "home" : undefined
}

/** `/home/$(whoami)`: what the shell computes may be the user's name. */
function namesComputedHome({ known, text }: ShellWord, { userHome }: CommandFacts): boolean {
  if (known || !/^\/[^$`]+\/(?:\$|`)/u.test(text)) return false
  const pattern = text.replaceAll(/\$\([^()]*\)|`[^`]*`|\$\{[^{}]*\}|\$\w+/gu, "*")
  return pathGlob(withoutTrailingSlash(pattern))(withoutTrailingSlash(userHome))
}

/** `rm -rf link` removes a symbolic link, `rm -rf link/` what it points to. */
function deletesLinkItself({ text, pattern }: ShellWord): boolean {
  return !pattern && !/(?:^|\/)\.{0,2}$/u.test(text)
}

function classify(path: string, pattern: boolean, facts: CommandFacts): ProtectedDirectory | undefined {
  if (!pattern || !hasGlob(path)) return namedDirectory(path, facts)
  const target = withoutContentPattern(path)
  if (!hasGlob(target)) return namedDirectory(target, facts)
  if (SYSTEM_DIRECTORIES.some(pathGlob(target.toLowerCase()))) return "system"
  return pathGlob(target)(withoutTrailingSlash(facts.userHome)) ? "home" : undefined
}

function namedDirectory(written: string, facts: CommandFacts): ProtectedDirectory | undefined {
  // The kernel's link to the root directory of a process.
  const path = written.replace(/^(?:\/proc\/(?:self|thread-self|\d+)\/root)+(?=\/|$)/u, "") || "/"
  if (path === "/") return "root"
  if (SYSTEM_DIRECTORIES.includes(path.toLowerCase())) return "system"
  const home = withoutTrailingSlash(facts.userHome)
  const homes = [home, facts.realPath(home)]
  return homes.some((directory) => directory === path || directory.startsWith(`${path}/`)) ? "home" : undefined
}

/** Removes last components that match everything in their directory, such as `*`, `.*` and `[!x]*`. */
function withoutContentPattern(path: string): string {
  let target = path
  while (target !== "/" && matchesMost(posix.basename(target))) target = posix.dirname(target)
  return target
}

function matchesMost(pattern: string): boolean {
  if (!hasGlob(pattern)) return false
  const matches = componentGlob(pattern)
  return TYPICAL_NAMES.some((names) => names.every(matches))
}

const TYPICAL_NAMES: readonly (readonly string[])[] = [
  ["documents", "downloads", "projects", "src", "work"],
  ["Documents", "Downloads", "Pictures", "Music", "Work"],
  [".ssh", ".config", ".bashrc", ".local", ".gitconfig"],
]

/** Without the directories of the second line no program starts, or the package manager no longer knows what is installed. */
export const SYSTEM_DIRECTORIES: readonly string[] = (
  "home root etc usr var bin sbin boot lib lib64 opt dev proc sys users system library applications " +
  "usr/bin usr/sbin usr/lib usr/lib32 usr/lib64 usr/libexec usr/share var/lib var/db lib/modules boot/efi system/library private/etc private/var"
)
  .split(" ")
  .map((name) => `/${name}`)
