import { posix } from "node:path"
import { hostsIn, plainHost } from "../provenance/hosts.ts"
import type { UnderstoodCommand } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { hasFlag, invocations, subcommands } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import { gitDirectory } from "./patch-targets.ts"

/** The files with the addresses of submodules that a line starts to use. Their text is read when the line is judged. */
export function submoduleFiles(understood: UnderstoodCommand, facts: CommandFacts): readonly string[] {
  return understood.commands.flatMap((command) => {
    if (command.source === "remote" || command.program !== "git") return []
    if (!command.argv.some(({ text }) => text === "submodule")) return []
    const [call] = invocations(command, understood, facts)
    return call === undefined || !takesAddresses(call)
      ? []
      : directoriesOf(call).flatMap((directory) => [modulesFile(directory), settingsFile(directory)])
  })
}

const modulesFile = (directory: string): string => posix.join(directory, ".gitmodules")
const settingsFile = (directory: string): string => posix.join(directory, ".git/config")

/** A command may run below the directory of the repository. */
function directoriesOf(call: Invocation): readonly string[] {
  return [...new Set([gitDirectory(call) ?? call.facts.workspaceRoot, call.facts.workspaceRoot])]
}

/** `init` and `sync` copy addresses from `.gitmodules`, which anybody may have written, to the settings of the repository. */
function takesAddresses(call: Invocation): boolean {
  const [command, action] = subcommands(call)
  if (command !== "submodule") return false
  return action === "init" || action === "sync" || (action === "update" && hasFlag(call, /^--init$/u))
}

/** True when submodules would be loaded from a host from which the repository has loaded nothing so far. */
export function takesNewAddress(call: Invocation): boolean {
  const { texts } = call.facts
  if (texts === undefined || !takesAddresses(call)) return false
  return directoriesOf(call).some((directory) => {
    const modules = texts.get(modulesFile(directory))
    if (modules === undefined) return false
    const known = new Set(addresses(texts.get(settingsFile(directory)) ?? "").flatMap(hostOf))
    return (
      /^\s*update\s*=\s*!/mu.test(modules) ||
      addresses(modules).some((url) => !RELATIVE.test(url) && !hostOf(url).some((host) => known.has(host)))
    )
  })
}

/** Relative to the address of the repository itself. */
const RELATIVE = /^\.{1,2}\//u

function hostOf(url: string): readonly string[] {
  if (/^\w+::/u.test(url)) return []
  const [host = plainHost(url)] = hostsIn(url)
  return host === undefined ? [] : [host]
}

function addresses(settings: string): readonly string[] {
  return Array.from(settings.matchAll(/^\s*(?:\[[^\]]*\]\s*)?url\s*=\s*"?(.*?)"?\s*$/gimu), ([, url = ""]) => url)
}
