import { join } from "node:path"

import type { SimpleCommand, UnderstoodCommand } from "../shell/understood-command.ts"
import { programName } from "./invocation.ts"
import { writesGitSettings } from "./git-settings.ts"

/** Files that the sandbox protects and that a common tool has to write. An approval opens them for that one command. */
export interface OpenedFiles {
  /** The name of the rule, which the question shows. */
  readonly rule: string
  /** The command that needs them, as written. */
  readonly command: string
  readonly files: readonly string[]
  /** Needed only in a repository whose git starts programs, because git itself may write the file in others. */
  readonly onlyWithGitPrograms?: true
}

/** The scripts of `package.json` by directory, for the directories that `packageDirectories` returns. */
export type PackageScripts = ReadonlyMap<string, Readonly<Record<string, string>>>

interface ProtectedFileRule {
  readonly name: string
  /** Relative to the workspace and to the directory of the command. */
  readonly files: readonly string[]
  /** The words of a command without its options, and the options. */
  matches(program: string, operands: readonly string[], options: readonly string[]): boolean
  /** In a script of `package.json`. */
  readonly inScript?: RegExp
  /** A variable with which the user turns the tool off. */
  readonly disabledBy?: string
}

const HOOKS: readonly string[] = [".git/hooks"]
const PRE_COMMIT: ReadonlySet<string> = new Set(["pre-commit", "prek"])

const RULES: readonly ProtectedFileRule[] = [
  {
    name: "husky",
    files: [".husky", ".git/config"],
    matches: (program) => program === "husky",
    inScript: /(?<![\w/-])husky(?![\w-])/u,
    disabledBy: "HUSKY",
  },
  {
    name: "pre-commit",
    files: HOOKS,
    matches: (program, [subcommand]) => PRE_COMMIT.has(program) && isInstalling(subcommand),
    inScript: /(?<![\w/-])(?:pre-commit|prek) (?:un)?install\b/u,
  },
  {
    name: "pre-commit settings",
    files: [".pre-commit-config.yaml", "prek.toml"],
    matches: (program, [subcommand = ""]) =>
      PRE_COMMIT.has(program) && /^(?:autoupdate|auto-update|migrate-config)$/u.test(subcommand),
  },
  {
    name: "lefthook",
    files: [...HOOKS, "lefthook.yml", ".lefthook"],
    matches: (program, [subcommand]) => program === "lefthook" && (isInstalling(subcommand) || subcommand === "add"),
    inScript: /(?<![\w/-])lefthook (?:un)?install\b/u,
    disabledBy: "LEFTHOOK",
  },
  {
    name: "overcommit",
    files: [...HOOKS, ".overcommit.yml"],
    matches: (program, _operands, options) =>
      program === "overcommit" && options.some((option) => /^(?:-[iuf]|--(?:un)?install|--force)$/u.test(option)),
  },
  {
    name: "hk",
    files: [...HOOKS, "hk.pkl"],
    matches: (program, [subcommand]) => program === "hk" && (isInstalling(subcommand) || subcommand === "init"),
  },
  {
    name: "asdf",
    files: [".tool-versions"],
    matches: (program, [subcommand]) => program === "asdf" && (subcommand === "local" || subcommand === "set"),
  },
  {
    name: "mise",
    files: ["mise.toml", ".mise.toml", "mise.local.toml", ".config/mise.toml", ".tool-versions"],
    matches: (program, [subcommand = ""]) =>
      program === "mise" && /^(?:use|u|unuse|rm|set|unset|fmt)$/u.test(subcommand),
  },
  {
    name: "proto",
    files: [".prototools"],
    matches: (program, [subcommand]) => program === "proto" && (subcommand === "pin" || subcommand === "unpin"),
  },
  {
    name: "simple-git-hooks",
    files: HOOKS,
    matches: (program) => program === "simple-git-hooks",
    inScript: /(?<![\w/-])simple-git-hooks(?![\w-])/u,
    disabledBy: "SKIP_INSTALL_SIMPLE_GIT_HOOKS",
  },
  {
    name: "git submodule",
    files: [".git/config", ".git/modules"],
    matches: (program, [subcommand, action]) =>
      program === "git" && subcommand === "submodule" && SUBMODULE_ACTIONS.has(action ?? ""),
  },
]

/** The programs that the rules are about. */
const TOOLS: ReadonlySet<string> = new Set([
  "husky",
  "lefthook",
  "simple-git-hooks",
  "overcommit",
  "hk",
  "git",
  "asdf",
  "mise",
  "proto",
  ...PRE_COMMIT,
])

const SUBMODULE_ACTIONS: ReadonlySet<string> = new Set(
  "add update init deinit sync set-url set-branch absorbgitdirs".split(" "),
)

function isInstalling(subcommand: string | undefined): boolean {
  return subcommand === "install" || subcommand === "uninstall"
}

interface OpeningFacts {
  readonly workspaceRoot: string
  readonly scripts: PackageScripts
  /** Needs `.git/config`, and only for what git itself keeps there. */
  readonly keepsGitSettings: boolean
}

/** The files that the commands of a line need. A line that is not understood completely opens nothing. */
export function openedFiles(
  understood: UnderstoodCommand,
  { workspaceRoot, scripts, keepsGitSettings }: OpeningFacts,
): readonly OpenedFiles[] {
  if (understood.doubts.length > 0 || (understood.after.sourced?.size ?? 0) > 0) return []
  return understood.commands.flatMap((command) => {
    const { directory, text } = command
    const isHere = directory !== undefined && isWithin(directory, workspaceRoot) && command.source !== "remote"
    if (!isHere || command.wrappers.some(({ program }) => REMOTE_OR_PRIVILEGED.has(program))) return []
    const opened = (rule: string, files: readonly string[]): OpenedFiles => ({
      rule,
      command: text,
      files: [...new Set([workspaceRoot, directory])].flatMap((base) => files.map((file) => join(base, file))),
    })
    if (keepsGitSettings && writesGitSettings(command))
      return [{ ...opened("git settings", [".git/config"]), onlyWithGitPrograms: true as const }]
    return rulesFor(command, scripts.get(directory) ?? {}).map(({ name, files }) => opened(name, files))
  })
}

const REMOTE_OR_PRIVILEGED: ReadonlySet<string> = new Set(["ssh", "sudo", "doas", "su", "docker", "podman", "kubectl"])

function rulesFor(command: SimpleCommand, scripts: Readonly<Record<string, string>>): readonly ProtectedFileRule[] {
  const program = programName(command.program ?? "")
  if (!TOOLS.has(program) && !PACKAGE_MANAGERS.has(program)) return []
  const words = command.argv.slice(1).map(({ text }) => text)
  const isOption = (word: string): boolean => word.startsWith("-")
  const operands = (program === "git" ? withoutSettings(words) : words).filter((word) => !isOption(word))
  const options = words.filter(isOption)
  const named = scriptsRunBy(command).flatMap((name) => (Object.hasOwn(scripts, name) ? [scripts[name] ?? ""] : []))
  const isDisabled = ({ disabledBy }: ProtectedFileRule): boolean =>
    command.assignments.some(({ name, value }) => name === disabledBy && value.text !== "")
  return RULES.filter(
    (rule) =>
      !isDisabled(rule) &&
      (rule.matches(program, operands, options) || named.some((script) => rule.inScript?.test(script) === true)),
  )
}

/** `git -c KEY=VALUE submodule add` without what precedes the subcommand. Another directory (`-C`) matches no rule. */
function withoutSettings(words: readonly string[]): readonly string[] {
  return words[0] === "-c" ? withoutSettings(words.slice(2)) : words
}

const PACKAGE_MANAGERS: ReadonlySet<string> = new Set(["npm", "pnpm", "yarn", "bun"])
const INSTALL: ReadonlySet<string> = new Set(["install", "i", "ci", "add", "it", "install-test", "clean-install"])
const INSTALL_SCRIPTS: readonly string[] =
  "preinstall install postinstall prepublish preprepare prepare postprepare".split(" ")
const RUN: ReadonlySet<string> = new Set(["run", "run-script", "rum", "urn"])

/** The scripts of `package.json` that a package manager runs. */
function scriptsRunBy({ program, argv }: SimpleCommand): readonly string[] {
  const manager = programName(program ?? "")
  if (!PACKAGE_MANAGERS.has(manager)) return []
  const words = argv.slice(1).map(({ text }) => text)
  if (words.includes("--ignore-scripts")) return []
  const [subcommand, name] = words.filter((word) => !word.startsWith("-"))
  if (subcommand === undefined) return manager === "yarn" ? INSTALL_SCRIPTS : []
  if (INSTALL.has(subcommand)) return INSTALL_SCRIPTS
  const script = RUN.has(subcommand) ? name : subcommand
  return script === undefined ? [] : [`pre${script}`, script, `post${script}`]
}

/** The directories whose `package.json` decides which files a line needs. */
export function packageDirectories(understood: UnderstoodCommand): readonly string[] {
  const running = understood.commands.filter((command) => scriptsRunBy(command).length > 0)
  return [...new Set(running.flatMap(({ directory, source }) => (source === "remote" ? [] : (directory ?? []))))]
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory === "/" ? "/" : `${directory}/`)
}
