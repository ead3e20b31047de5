import type { ShellWord } from "../shell/understood-command.ts"
import { optionValues, programName } from "./invocation.ts"
import type { Invocation } from "./invocation.ts"
import type { Registry } from "./well-known-programs.ts"

/** A package that a command downloads and starts, or installs as a program for the account. */
export interface StartedPackage {
  readonly registry: Registry
  /** Without its version; undefined for an address, a path and a name that is not known. */
  readonly name: string | undefined
  /** A program of the project with this name is started instead if there is one. */
  readonly isProgram: boolean
}

type Reader = (call: Invocation) => readonly StartedPackage[]

/** The packages that a command starts or installs from a registry; none for programs that only start what the project contains. */
export function startedPackages(call: Invocation): readonly StartedPackage[] {
  return READERS.get(call.program)?.(call) ?? []
}

/** What a wrapper such as `npx` starts: the next program of the command, which may be a wrapper itself. */
function startedWord(call: Invocation): readonly ShellWord[] {
  if (!call.isWrapper) return []
  const { wrappers, argv } = call.command
  return wrappers.flatMap(({ program }, at) =>
    programName(program) === call.program ? (wrappers[at + 1]?.argv ?? argv).slice(0, 1) : [],
  )
}

/** The first word that is not an option, and those after it. Options that take a value are skipped with it. */
function operandsOf(call: Invocation, valued: RegExp): readonly ShellWord[] {
  return call.words.filter(
    ({ text }, index) => !text.startsWith("-") && !valued.test(call.words[index - 1]?.text ?? ""),
  )
}

const VALUED =
  /^(?:-[CFpwt]|--(?:filter|dir|cwd|prefix|workspace|registry|package|template|version|vers|root|target|profile|features|jobs|python|index-url|index|directory|pip-args|suffix|bin|example|git|branch|tag|rev|source|install-dir|platform))$/u

function npmPackage({ text, known }: ShellWord, isProgram: boolean): StartedPackage {
  const [, name, version] = /^((?:@[\w.-]+\/)?[\w.-]+)(?:@([^:/]*))?$/u.exec(text) ?? []
  const isUnknown = name === undefined || /^\.{1,2}$/u.test(name) || (!known && /[$`]/u.test(name))
  return { registry: "npm", name: isUnknown ? undefined : name, isProgram: isProgram && version === undefined }
}

/** `npx [-p PACKAGE] PROGRAM` */
const npmRunner: Reader = (call) => {
  // These options forbid the download.
  if (call.flags.some((flag) => /^--no(?:-install)?$/u.test(flag))) return []
  const given = optionValues(call, "-p", "--package")
  if (given.length > 0) return given.map((word) => npmPackage(word, false))
  return [...startedWord(call), ...throughManager(call)].map((word) => npmPackage(word, true))
}

/** `npx pnpm@9 dlx PROGRAM`: with a version, the name of the package manager is not that of a program. */
function throughManager({ isWrapper, command: { argv } }: Invocation): readonly ShellWord[] {
  const [, manager] = /^(npm|npx|pnpm|yarn|bun)@/u.exec(argv[0]?.text ?? "") ?? []
  if (!isWrapper || manager === undefined) return []
  const [action, program] = argv.slice(1).filter(({ text }) => !text.startsWith("-"))
  if (manager === "npx") return action === undefined ? [] : [action]
  return program !== undefined && /^(?:exec|x|dlx)$/u.test(action?.text ?? "") ? [program] : []
}

const subcommandOf = (call: Invocation): string => operandsOf(call, VALUED)[0]?.text ?? ""

/** `npm create vite` starts the package `create-vite`, `npm create @scope/x` the package `@scope/create-x`. */
function createdPackage(word: ShellWord): StartedPackage {
  const [, scope = "", name = "", version = ""] = /^(@[\w.-]+)?\/?([\w.-]*)(@[^:/]*)?$/u.exec(word.text) ?? []
  if (scope === "" && name === "") return npmPackage(word, false)
  const created = name === "" ? "create" : `create-${name}`
  return npmPackage({ ...word, text: `${scope === "" ? "" : `${scope}/`}${created}${version}` }, false)
}

/** `pipx install .` installs the project itself. */
const isElsewhere = ({ text }: ShellWord): boolean => text !== "." && text !== "./"

const npmReader =
  (starts: RegExp): Reader =>
  (call) => {
    if (call.isWrapper) return starts.test(subcommandOf(call)) ? npmRunner(call) : []
    const [subcommand = "", ...rest] = operandsOf(call, VALUED).map(({ text }) => text)
    const operands = operandsOf(call, VALUED).slice(1)
    if (/^(?:create|init|innit)$/u.test(subcommand)) return operands.slice(0, 1).map(createdPackage)
    const isYarn = subcommand === "global" && rest[0] === "add"
    const isGlobal = isYarn || call.flags.some((flag) => /^(?:-[a-zA-Z]*g|--global|--location=global)$/u.test(flag))
    if (!isGlobal || !/^(?:install|i|in|add|global|isntall)$/u.test(subcommand)) return []
    return (isYarn ? operands.slice(1) : operands).filter(isElsewhere).map((word) => npmPackage(word, false))
  }

function pythonPackage({ text, known }: ShellWord): StartedPackage {
  const name = /^([\w.-]+)(?:\[[^\]]*\])?(?:\s*(?:[=<>~!]=?|@(?!\s*[\w+]+:)|;).*)?$/su.exec(text)?.[1]
  const isUnknown = name === undefined || (!known && /[$`]/u.test(name))
  return { registry: "python", name: isUnknown ? undefined : name, isProgram: false }
}

const pythonRunner: Reader = (call) => {
  const from = optionValues(call, "--from", "--spec")
  const added = optionValues(call, "--with", "-w").flatMap((word) =>
    word.text.split(",").map((text) => ({ ...word, text })),
  )
  return [...(from.length > 0 ? from : startedWord(call)), ...added].map(pythonPackage)
}

const uv: Reader = (call) => {
  const [first, second, ...packages] = operandsOf(call, VALUED)
  if (first?.text === "run") return call.isWrapper ? pythonRunner(call).slice(startedCount(call)) : []
  if (first?.text !== "tool") return []
  if (call.isWrapper) return pythonRunner(call)
  return second?.text === "install" ? packages.filter(isElsewhere).map(pythonPackage) : []
}

/** `uv run PROGRAM` starts what the project contains; only what is added to it counts. */
const startedCount = (call: Invocation): number => Math.max(1, optionValues(call, "--from", "--spec").length)

const pipx: Reader = (call) => {
  if (call.isWrapper) return pythonRunner(call)
  const [action, ...packages] = operandsOf(call, VALUED)
  if (action?.text === "run") return [...packages.slice(0, 1), ...optionValues(call, "--spec")].map(pythonPackage)
  return /^(?:install|install-all|inject)$/u.test(action?.text ?? "")
    ? packages.filter(isElsewhere).map(pythonPackage)
    : []
}

/** `python3 -m pipx run PROGRAM` */
const python: Reader = (call) => {
  const [option, module, ...words] = call.words
  if (option?.text !== "-m" || !/^(?:pipx|uv)$/u.test(module?.text ?? "")) return []
  if (module?.text === "pipx") return pipx({ ...call, words })
  const [first, second, ...packages] = operandsOf({ ...call, words }, VALUED)
  const starts = first?.text === "tool" && /^(?:run|install)$/u.test(second?.text ?? "")
  return starts ? packages.slice(0, 1).map(pythonPackage) : []
}

/** `go run MODULE@VERSION` downloads it; without a version it is a package of the project or of its `go.mod`. */
const go: Reader = (call) => {
  const [action, ...packages] = operandsOf(call, /^-(?:C|tags|ldflags|gcflags|mod|modfile|o|p|exec)$/u)
  if (action?.text !== "run" && action?.text !== "install") return []
  const versioned = packages.slice(0, action.text === "run" ? 1 : undefined).filter(({ text }) => text.includes("@"))
  return versioned.map(({ text, known }) => ({
    registry: "go",
    name: known ? text.slice(0, text.indexOf("@")) : undefined,
    isProgram: false,
  }))
}

const cargo: Reader = (call) => {
  const operands = operandsOf(call, VALUED).filter(({ text }) => !text.startsWith("+"))
  const installs = call.program !== "cargo" || /^(?:install|binstall)$/u.test(operands[0]?.text ?? "")
  if (!installs || optionValues(call, "--path").length > 0) return []
  return (call.program === "cargo" ? operands.slice(1) : operands).map(({ text, known }) => ({
    registry: "rust",
    name: known ? text.replace(/@.*$/su, "") : undefined,
    isProgram: false,
  }))
}

const gem: Reader = (call) => {
  const [action, ...packages] = operandsOf(call, /^(?:-[vniP]|--(?:version|install-dir|bindir|source|platform))$/u)
  if (!/^(?:install|i|exec)$/u.test(action?.text ?? "")) return []
  return packages.slice(0, action?.text === "exec" ? 1 : undefined).map(({ text, known }) => ({
    registry: "ruby",
    name: known ? text.replace(/:.*$/su, "") : undefined,
    isProgram: false,
  }))
}

/** `deno run npm:PACKAGE`. Addresses are judged apart, and `@std` is the library of Deno itself. */
const deno: Reader = (call) => {
  const [action, ...rest] = operandsOf(call, VALUED)
  const isShort = /^(?:npm|jsr):/u.test(action?.text ?? "")
  const operands = isShort && action !== undefined ? [action] : rest
  if (!isShort && !/^(?:run|x|serve|install|i|create)$/u.test(action?.text ?? "")) return []
  if (action?.text.startsWith("i") === true && !call.flags.some((flag) => /^(?:-[a-zA-Z]*g|--global)/u.test(flag)))
    return []
  return operands.slice(0, 1).flatMap((word) => {
    const [, registry, name = ""] = /^(npm|jsr):\/?((?:@[^/@]+\/)?[^/@]+(?:@[^/]*)?)/u.exec(word.text) ?? []
    if (registry === undefined || name.startsWith("@std/")) return []
    return npmPackage({ ...word, text: registry === "jsr" ? "" : name }, false)
  })
}

/** `dotnet tool install -g PACKAGE`, `dnx PACKAGE`. A tool of the project is in its manifest. */
const dotnet: Reader = (call) => {
  const [first, second, ...rest] = operandsOf(call, /^--(?:version|add-source|tool-path|framework|configfile)$/u)
  const isGlobal = call.flags.some((flag) => /^(?:-g|--global|--tool-path.*)$/u.test(flag))
  const isTool = first?.text === "tool" && (second?.text === "exec" || (second?.text === "install" && isGlobal))
  const started = call.program === "dnx" ? first : first?.text === "dnx" ? second : isTool ? rest[0] : undefined
  if (started === undefined) return []
  return [
    { registry: "dotnet", name: started.known ? started.text.replace(/@.*$/su, "") : undefined, isProgram: false },
  ]
}

/** `composer global require PACKAGE` */
const composer: Reader = (call) => {
  const [first, second, ...packages] = operandsOf(call, VALUED)
  if (first?.text !== "global" || second?.text !== "require") return []
  return packages.map(({ text, known }) => ({
    registry: "php",
    name: known ? text.replace(/[:=].*$/su, "") : undefined,
    isProgram: false,
  }))
}

const READERS: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  ["npx", npmRunner],
  ["pnpx", npmRunner],
  ["bunx", npmRunner],
  ["npm", npmReader(/^(?:exec|x)$/u)],
  ["pnpm", npmReader(/^dlx$/u)],
  ["yarn", npmReader(/^dlx$/u)],
  ["bun", npmReader(/^x$/u)],
  ["uvx", pythonRunner],
  ["uv", uv],
  ["pipx", pipx],
  ["go", go],
  ["cargo", cargo],
  ["cargo-binstall", cargo],
  ...["python", "python3", "py"].map((name) => [name, python] as const),
  ["dotnet", dotnet],
  ["dnx", dotnet],
  ["composer", composer],
  ["gem", gem],
  ["deno", deno],
])

export const PACKAGE_STARTERS: readonly string[] = [...READERS.keys()]
