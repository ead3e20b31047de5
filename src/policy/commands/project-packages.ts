import { posix } from "node:path"
import { isRecord, parseJson } from "../../base/json.ts"
import { isWithin } from "../file-floor.ts"
import type { SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import type { CommandFacts } from "./command-verdict.ts"
import { invocations, programName } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import { PACKAGE_STARTERS, startedPackages } from "./started-packages.ts"
import type { StartedPackage } from "./started-packages.ts"
import { isWellKnownPackage, isWellKnownProgram } from "./well-known-programs.ts"
import type { Registry } from "./well-known-programs.ts"

/** Files in which a project names its packages. */
const MANIFESTS: Readonly<Record<Registry, readonly string[]>> = {
  npm: ["package.json"],
  python: ["pyproject.toml", "requirements.txt", "requirements-dev.txt"],
  go: ["go.mod"],
  rust: [],
  ruby: ["Gemfile"],
  dotnet: [".config/dotnet-tools.json"],
  php: ["composer.json"],
}

const STARTERS: ReadonlySet<string> = new Set(PACKAGE_STARTERS)

/** What has to be looked up to judge the packages that a line starts. */
export interface PackageLookups {
  readonly manifests: readonly string[]
  /** Directories with the programs that are installed in the project. */
  readonly programs: readonly string[]
}

export function packageLookups(understood: UnderstoodCommand, facts: CommandFacts): PackageLookups {
  const starting = understood.commands.filter(startsPackages)
  if (starting.length === 0) return NO_LOOKUPS
  const calls = starting.flatMap((command) => invocations(command, understood, facts))
  const needed = calls.flatMap((call) =>
    startedPackages(call)
      .filter((started) => !isWellKnown(started))
      .flatMap(({ registry }) => projectDirectories(call).map((directory) => ({ registry, directory }))),
  )
  return {
    manifests: distinct(
      needed.flatMap(({ registry, directory }) => MANIFESTS[registry].map((name) => posix.join(directory, name))),
    ),
    programs: distinct(
      needed.flatMap(({ registry, directory }) => (registry === "npm" ? [programDirectory(directory)] : [])),
    ),
  }
}

const NO_LOOKUPS: PackageLookups = { manifests: [], programs: [] }

function startsPackages({ program = "", wrappers, source }: SimpleCommand): boolean {
  if (source === "remote") return false
  return STARTERS.has(programName(program)) || wrappers.some((wrapper) => STARTERS.has(programName(wrapper.program)))
}

const distinct = (paths: readonly string[]): readonly string[] => [...new Set(paths)]
const programDirectory = (directory: string): string => posix.join(directory, "node_modules/.bin")

/** The directory of the command and those above it in the workspace, as package managers look for a project. */
function projectDirectories({ command: { directory }, facts: { workspaceRoot } }: Invocation): readonly string[] {
  if (directory === undefined) return []
  const found = [directory]
  while (found.length < MOST_DIRECTORIES) {
    const current = found.at(-1) ?? workspaceRoot
    if (current === workspaceRoot || !isWithin(current, workspaceRoot)) break
    found.push(posix.dirname(current))
  }
  return found
}

const MOST_DIRECTORIES = 8

function isWellKnown({ name, registry, isProgram }: StartedPackage): boolean {
  return name !== undefined && (isWellKnownPackage(name, registry) || (isProgram && isWellKnownProgram(name)))
}

/** True when a package is neither part of the project nor a tool that everybody uses. */
export function isForeign(started: StartedPackage, call: Invocation): boolean {
  const { name, registry, isProgram } = started
  if (name === undefined) return true
  if (isWellKnown(started)) return false
  const { texts, contained } = call.facts
  return !projectDirectories(call).some((directory) => {
    const isInstalled =
      isProgram && registry === "npm" && contained?.get(programDirectory(directory))?.includes(name) === true
    return (
      isInstalled || MANIFESTS[registry].some((file) => isNamed(started, texts?.get(posix.join(directory, file)) ?? ""))
    )
  })
}

function isNamed({ name = "", registry, isProgram }: StartedPackage, manifest: string): boolean {
  if (manifest === "") return false
  if (registry === "npm") return namedInPackageJson(manifest, isProgram).has(name)
  const lines = manifest.slice(0, MAX_CHARS).split("\n")
  // The path of a Go package starts with that of its module.
  if (registry === "go")
    return lines.some((line) => {
      const module = /^\s*(?:require\s+)?([\w.-]+\.[\w.-]+\/\S+)\s+v/u.exec(line)?.[1]
      return module !== undefined && (name === module || name.startsWith(`${module}/`))
    })
  const wanted = folded(name)
  return lines.some((line) => PACKAGE_NAMES[registry](line).some((found) => folded(found) === wanted))
}

const folded = (name: string): string => name.toLowerCase().replaceAll(/[_.]/gu, "-")

/** The names that a line of a manifest may mean: quoted ones, keys, and the first word of a requirement. */
const PACKAGE_NAMES: Readonly<Record<Exclude<Registry, "npm" | "go">, (line: string) => readonly string[]>> = {
  python: (line) => {
    const text = line.replace(/(?:^|\s)#.*$/u, "")
    return [
      ...Array.from(text.matchAll(/["']([\w.-]+)(?=[\s[<>=~!;@"'])/gu), ([, found = ""]) => found),
      ...(/^\s*([\w.-]+)(?=\s*(?:$|[[<>=~!;@]))/u.exec(text)?.slice(1) ?? []),
    ]
  },
  rust: () => [],
  dotnet: keys,
  php: keys,
  ruby: (line) => /^\s*gem[\s(]+["']([\w.-]+)["']/u.exec(line)?.slice(1) ?? [],
}

/** The keys of a JSON document that is written with one on each line. */
function keys(line: string): readonly string[] {
  return /^\s*"([\w./-]+)"\s*:/u.exec(line)?.slice(1) ?? []
}

const MAX_CHARS = 500_000

/** The dependencies of a package; as programs also its own. */
function namedInPackageJson(text: string, isProgram: boolean): ReadonlySet<string> {
  const document = parseJson(text.slice(0, MAX_CHARS))
  if (!isRecord(document)) return new Set()
  const dependencies = Object.entries(document).flatMap(([field, value]) =>
    /dependencies$/iu.test(field) && isRecord(value) ? Object.keys(value) : [],
  )
  const { bin, name } = document
  const own = isRecord(bin) ? Object.keys(bin) : typeof bin === "string" && typeof name === "string" ? [name] : []
  return new Set(isProgram ? [...dependencies, ...own] : dependencies)
}
