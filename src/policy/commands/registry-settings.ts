import { posix } from "node:path"
import type { SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { hostsIn, REGISTRY_HOSTS } from "../provenance/hosts.ts"
import { programName } from "./invocation.ts"

/** Files of a project that say from where a package manager loads packages and which token it sends there. */
const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  "npm npx pnpm pnpx": [".npmrc"],
  "yarn yarnpkg": [".yarnrc.yml", ".yarnrc", ".npmrc"],
  "bun bunx": ["bunfig.toml", ".npmrc"],
  cargo: [".cargo/config.toml", ".cargo/config"],
  "uv uvx": ["uv.toml"],
  "bundle gem": [".bundle/config"],
}

const FILES: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(SETTINGS).flatMap(([names, files]) => names.split(" ").map((name) => [name, files] as const)),
)

/** Subcommands that run something of the project and contact nobody. */
const LOCAL =
  /^(?:run|run-script|test|t|start|stop|restart|build|check|clippy|fmt|clean|doc|bench|config|get|set|bin|root|prefix|pack|ls|list|version|help|--?\w[\w-]*)$/u

/** The settings files that matter to the commands of a line. */
export function registryFiles(understood: UnderstoodCommand, workspaceRoot: string): readonly string[] {
  return [...new Set(understood.commands.flatMap((command) => settingsOf(command, workspaceRoot)))]
}

/** `npx` and its like are wrappers of what they start. */
function settingsOf(command: SimpleCommand, workspaceRoot: string): readonly string[] {
  const { program = "", argv, wrappers, directory, source } = command
  if (directory === undefined || source === "remote") return []
  if (wrappers.length === 0 && !FILES.has(programName(program))) return []
  return [{ program, argv }, ...wrappers].flatMap((started) => {
    const name = programName(started.program)
    const files = FILES.get(name)
    if (files === undefined) return []
    const action = started.argv.slice(1).find(({ text }) => !text.startsWith("-"))?.text
    // `yarn` alone installs.
    const isLocal = action === undefined ? name !== "yarn" : LOCAL.test(action)
    if (isLocal && !name.endsWith("x")) return []
    return [...new Set([directory, workspaceRoot])].flatMap((base) => files.map((file) => posix.join(base, file)))
  })
}

/** The hosts that the settings of the project lead a package manager to, apart from the usual registries. */
export function registryHosts(texts: ReadonlyMap<string, string>): readonly string[] {
  return [...new Set(Array.from(texts.values()).flatMap((text) => settingLines(text).flatMap(hostsOfLine)))].filter(
    (host) => !REGISTRY_HOSTS.has(host),
  )
}

/** A variable of the environment that the settings of the project send to another host than a usual registry. */
export interface SentToken {
  readonly file: string
  readonly variable: string
  readonly host: string
}

export function sentToken(
  command: SimpleCommand,
  { texts, workspaceRoot }: { readonly texts?: ReadonlyMap<string, string>; readonly workspaceRoot: string },
): SentToken | undefined {
  if (texts === undefined) return undefined
  for (const file of settingsOf(command, workspaceRoot)) {
    const lines = settingLines(texts.get(file) ?? "")
    const all = lines.flatMap(hostsOfLine)
    for (const line of lines) {
      const variable = AUTHENTICATION.test(line) ? VARIABLE.exec(line)?.[1] : undefined
      if (variable === undefined) continue
      const own = hostsOfLine(line)
      const host = (own.length > 0 ? own : all).find(
        (name) => !REGISTRY_HOSTS.has(name) && !isOwnService(variable, name),
      )
      if (host !== undefined) return { file, variable, host }
    }
  }
  return undefined
}

/** A token that is named after the service goes to that service. */
function isOwnService(variable: string, host: string): boolean {
  const names = Object.entries(SERVICES).filter(([name]) => new RegExp(`(?:^|_)${name}(?:_|$)`, "iu").test(variable))
  return names.some(([, domain]) => host === domain || host.endsWith(`.${domain}`))
}

const SERVICES: Readonly<Record<string, string>> = {
  github: "github.com",
  gh: "github.com",
  gitlab: "gitlab.com",
  ci_job: "gitlab.com",
  codeartifact: "amazonaws.com",
}

function settingLines(text: string): readonly string[] {
  return text
    .slice(0, MAX_CHARS)
    .split("\n")
    .filter((line) => !/^\s*[#;]/u.test(line))
}

/** `//host/path/:_authToken=…` has no scheme. */
function hostsOfLine(line: string): readonly string[] {
  const scoped = /^\s*\/\/([^/:\s]+)/u.exec(line)?.[1]
  return scoped === undefined ? hostsIn(line) : [scoped.toLowerCase()]
}

const MAX_CHARS = 100_000
const AUTHENTICATION = /auth|token|password|username|header/iu
const VARIABLE = /\$\{?(\w+)/u
