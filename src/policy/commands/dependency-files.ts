import { posix } from "node:path"
import { hostsIn, REGISTRY_HOSTS } from "../provenance/hosts.ts"
import type { ShellWord, SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { absolutePath } from "./command-paths.ts"
import { programName } from "./invocation.ts"

/** Files of a project with the packages that a package manager loads, each of which may have an address of its own. */
const MANIFESTS: Readonly<Record<string, readonly string[]>> = {
  npm: ["package.json"],
  pnpm: ["package.json"],
  yarn: ["package.json"],
  bun: ["package.json"],
  uv: ["pyproject.toml"],
  poetry: ["pyproject.toml"],
  pdm: ["pyproject.toml"],
  cargo: ["Cargo.toml"],
  composer: ["composer.json"],
}

/** Subcommands that load packages. `yarn` alone does too. */
const LOADS =
  /^(?:install|i|in|ci|clean-install|add|update|upgrade|up|install-test|it|dedupe|rebuild|sync|lock|fetch|vendor|require|download|wheel|import)$/u

/** The files with packages that the commands of a line load. Their text is read when the line is judged. */
export function dependencyFiles(understood: UnderstoodCommand): readonly string[] {
  return [...new Set(understood.commands.flatMap(filesOf))]
}

function filesOf({ program = "", argv, directory, source }: SimpleCommand): readonly string[] {
  if (directory === undefined || source === "remote") return []
  const name = programName(program)
  if (!Object.hasOwn(MANIFESTS, name) && !PYTHON.test(name)) return []
  const words = argv.slice(1)
  const pip = /^pip[\d.]*$/u.test(name) ? 0 : words.findIndex(({ text }) => /^pip[\d.]*$/u.test(text)) + 1
  if (/^pip[\d.]*$/u.test(name) || (pip > 0 && /^(?:python[\d.]*|py|uv)$/u.test(name)))
    return requirementFiles(words.slice(pip)).flatMap((word) => absolutePath(word, directory) ?? [])
  const files = MANIFESTS[name] ?? []
  const action = words.find(({ text }) => !text.startsWith("-"))?.text
  const loads = action === undefined ? name === "yarn" : LOADS.test(action)
  return loads ? files.map((file) => posix.join(directory, file)) : []
}

const PYTHON = /^(?:pip[\d.]*|python[\d.]*|py|uv)$/u

function requirementFiles(words: readonly ShellWord[]): readonly ShellWord[] {
  return words.flatMap((word, index) => {
    if (/^(?:-[rc]|--requirement|--constraint)$/u.test(word.text)) return words[index + 1] ?? []
    const value = /^(?:-[rc]|--(?:requirement|constraint)=)(.+)$/su.exec(word.text)?.[1]
    return value === undefined ? [] : { ...word, text: value }
  })
}

/** The hosts from which these files load packages, apart from the usual registries and the services that host most projects. */
export function dependencyHosts(texts: ReadonlyMap<string, string>): readonly string[] {
  const hosts = Array.from(texts).flatMap(([path, text]) => addressesIn(posix.basename(path), text.slice(0, MAX_CHARS)))
  return [...new Set(hosts)].filter((host) => !REGISTRY_HOSTS.has(host) && !PROJECT_HOSTS.has(host))
}

function addressesIn(name: string, text: string): readonly string[] {
  if (name.endsWith(".json")) return manifestHosts(text)
  const lines = text.split("\n").map((line) => line.replace(/(?:^|\s)#.*$/u, ""))
  if (!name.endsWith(".toml")) return lines.flatMap(hostsIn)
  let isLoaded = false
  return lines.flatMap((line) => {
    const section = /^\s*\[+\s*([^\]]+)/u.exec(line)?.[1]
    if (section !== undefined) isLoaded = LOADED_SECTION.test(section)
    return isLoaded || /^\s*(?:dependencies|requires)\b|@\s*(?:git\+)?https?:/u.test(line) ? hostsIn(line) : []
  })
}

const LOADED_SECTION = /depend|source|index|registr|patch|replace|tool\.uv|tool\.pdm/iu

function manifestHosts(text: string): readonly string[] {
  try {
    const parsed: unknown = JSON.parse(text)
    if (typeof parsed !== "object" || parsed === null) return []
    return Object.entries(parsed).flatMap(([key, value]) =>
      LOADED_FIELD.test(key) ? stringsIn(value).flatMap(hostsIn) : [],
    )
  } catch {
    // The package manager cannot read it either.
    return []
  }
}

const LOADED_FIELD =
  /dependencies$|^(?:overrides|resolutions|pnpm|repositories|require|require-dev|catalogs?|workspaces)$/iu

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value]
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : []
}

const MAX_CHARS = 500_000
const PROJECT_HOSTS: ReadonlySet<string> = new Set(
  "github.com codeload.github.com gitlab.com bitbucket.org codeberg.org download.pytorch.org".split(" "),
)
