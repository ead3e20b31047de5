/** The package that a package runner downloads and runs. */
export interface RunPackage {
  readonly ecosystem: "npm" | "PyPI"
  readonly name: string
  readonly version?: string
}

const RUNNERS: Readonly<Record<string, RunPackage["ecosystem"]>> = { npx: "npm", uvx: "PyPI", pipx: "PyPI" }

/** The package of `npx`, `uvx` and `pipx` command lines; undefined for other programs. */
export function runPackage(command: string, args: readonly string[]): RunPackage | undefined {
  const ecosystem = RUNNERS[command.replace(/^.*[/\\]/u, "").replace(/\.(?:cmd|exe)$/iu, "")]
  if (ecosystem === undefined) return undefined
  const given = packageArgument(ecosystem === "PyPI" && args[0] === "run" ? args.slice(1) : args)
  if (given === undefined) return undefined
  const { name, version } = splitVersion(given)
  return { ecosystem, name, ...(version === undefined ? {} : { version }) }
}

/** `--package=foo`, `--from foo` and `-p foo` name the package; otherwise it is the first argument that is not an option. */
function packageArgument(args: readonly string[]): string | undefined {
  for (const [index, argument] of args.entries()) {
    const [, inline] = /^--(?:package|from|spec)=(.+)$/u.exec(argument) ?? []
    if (inline !== undefined) return inline
    if (["-p", "--package", "--from", "--spec"].includes(argument)) return args[index + 1]
    if (!argument.startsWith("-")) return argument
  }
  return undefined
}

/** `@scope/pkg@1.2.3`, `pkg@latest`, `name[extra]==1.0`. A tag such as `latest` is not a version. */
function splitVersion(given: string): { readonly name: string; readonly version?: string } {
  const [, name = given, version = ""] = /^(@?[^@=[]+)(?:\[[^\]]*\])?(?:@|==)?(.*)$/u.exec(given) ?? []
  return /^\d/u.test(version) ? { name, version } : { name }
}
