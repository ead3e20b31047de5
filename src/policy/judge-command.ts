import { installedPrograms } from "./changed-shell.ts"
import type { ProgramFacts } from "./changed-shell.ts"
import { copiedContainers } from "./commands/copied-names.ts"
import { classifyCommand, joinVerdicts } from "./commands/classify-command.ts"
import { mentionedPaths } from "./commands/command-paths.ts"
import type { CommandFacts, CommandVerdict, Container } from "./commands/command-verdict.ts"
import { packageLookups } from "./commands/project-packages.ts"
import { listedNames } from "./commands/listed-names.ts"
import { listOptionFiles } from "./commands/families/credential-lists.ts"
import { namesProjectProgram } from "./commands/families/environment.ts"
import { gitIndexPath } from "./commands/git-index.ts"
import { invocations } from "./commands/invocation.ts"
import { keepsGitSettings, updatesTree } from "./commands/git-settings.ts"
import { dependencyFiles, dependencyHosts } from "./commands/dependency-files.ts"
import { openedFiles, packageDirectories } from "./commands/protected-file-rules.ts"
import type { PackageScripts } from "./commands/protected-file-rules.ts"
import { patchFiles } from "./commands/patch-targets.ts"
import { pushDirectories, repositoryFiles } from "./commands/push-repository.ts"
import { registryFiles, registryHosts } from "./commands/registry-settings.ts"
import { isReadOnly } from "./commands/read-only.ts"
import { submoduleFiles } from "./commands/submodule-addresses.ts"
import type { JudgedCommand } from "./policy-request.ts"
import { understandCommand } from "./shell/understand-command.ts"
import type { ShellState, UnderstoodCommand } from "./shell/understood-command.ts"

export interface CommandJudgement {
  readonly state: ShellState
  readonly facts: Omit<CommandFacts, "realPath">
  /** Resolves the symbolic links of absolute paths, all at once. */
  readonly realPaths: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Reads the scripts of `package.json` in these directories. */
  readonly packageScripts: (directories: readonly string[]) => Promise<PackageScripts>
  /** Reads files whose text says what a command writes. Those that cannot be read are left out. */
  readonly readTexts?: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Returns those of the directories whose repositories are newer than this process. */
  readonly newRepositories?: (directories: readonly string[]) => Promise<ReadonlySet<string>>
  /** Looks up the names in directories and archives, relative to them. Those that do not exist are left out. */
  readonly containedNames?: (
    containers: readonly Container[],
  ) => Promise<ReadonlyMap<string, readonly string[] | undefined>>
  /** Which file a program name stands for. Without it, only the workspace is known to be writable. */
  readonly programs?: Omit<ProgramFacts, "state">
}

/**
 * Understands and classifies a command line. This module loads the shell parser, so callers import it with the first command and not
 * at the start.
 */
export async function judgeCommand(
  line: string,
  { state, facts, realPaths, packageScripts, readTexts, newRepositories, containedNames, programs }: CommandJudgement,
): Promise<JudgedCommand> {
  const understood = understandCommand(line, state, facts)
  const real = await realPaths(mentionedPaths(understood))
  const looked: CommandFacts = { ...facts, realPath: (path) => real.get(path) ?? path }
  const settings = registryFiles(understood, facts.workspaceRoot)
  const dependencies = dependencyFiles(understood)
  const packages = packageLookups(understood, looked)
  const read = [
    ...dependencies,
    ...packages.manifests,
    ...indexFiles(understood, looked),
    ...submoduleFiles(understood, looked),
    ...patchFiles(understood, looked),
    ...repositoryFiles(understood, looked),
    ...settings,
    ...understood.lists,
    ...listOptionFiles(understood),
  ]
  const texts = read.length === 0 ? undefined : await readTexts?.(read)
  const pushing = newRepositories === undefined ? [] : pushDirectories(understood, looked)
  const created = pushing.length === 0 ? undefined : await newRepositories?.(pushing)
  const containers = [
    ...copiedContainers(understood, looked),
    ...packages.programs.map((path) => ({ path, isArchive: false })),
  ]
  const contained = containers.length === 0 ? undefined : await containedNames?.(containers)
  const known = {
    ...looked,
    ...(texts === undefined ? {} : { texts }),
    ...(contained === undefined ? {} : { contained }),
    ...(created === undefined ? {} : { newRepositories: created }),
  }
  const verdict = await withListedNames(classifyCommand(understood, line, known), line, {
    state,
    facts: known,
    realPaths,
  })
  const textsOf = (paths: readonly string[]): ReadonlyMap<string, string> =>
    new Map([...(texts ?? [])].filter(([path]) => paths.includes(path)))
  const registries =
    settings.length + dependencies.length === 0
      ? []
      : [...new Set([...registryHosts(textsOf(settings)), ...dependencyHosts(textsOf(dependencies))])]
  const scripted = packageDirectories(understood)
  const scripts = scripted.length === 0 ? NO_SCRIPTS : await packageScripts(scripted)
  const isGit = keepsGitSettings(understood)
  const { workspaceRoot } = facts
  const opening = { workspaceRoot, scripts, keepsGitSettings: isGit }
  const needsFiles = openedFiles(understood, opening).length > 0
  const installed = needsFiles
    ? await installedPrograms(understood, { ...NO_PROGRAMS, writable: [workspaceRoot], ...programs, state })
    : []
  return {
    line,
    verdict,
    isReadOnly: isReadOnly(understood),
    keepsGitSettings: isGit,
    updatesTree: updatesTree(understood),
    ...(registries.length === 0 ? {} : { registries }),
    opens: openedFiles({ ...understood, commands: installed }, opening),
  }
}

/** The list of files that git tracks, for a line in which a variable names a program of the project. */
function indexFiles(understood: UnderstoodCommand, facts: CommandFacts): readonly string[] {
  const isNeeded =
    understood.after.variables.size > 0 || understood.commands.some(({ wholeText }) => assignsPath(wholeText))
  if (!isNeeded) return []
  const calls = understood.commands.flatMap((command) =>
    command.source === "remote" ? [] : invocations(command, understood, facts),
  )
  return calls.some(namesProjectProgram) ? [gitIndexPath(facts)] : []
}

/** An assignment of a path, as far as it can be seen at a glance. A pattern for this takes seconds for a word of 10 KB. */
function assignsPath(text: string): boolean {
  return text.split(/\s/u).some((word) => {
    const equals = word.indexOf("=")
    return equals > 0 && word.includes("/", equals) && /[A-Z]/u.test(word.slice(0, equals))
  })
}

/** Judges a line again with the names in the lists that it reads. What it does without them stays part of the verdict. */
async function withListedNames(
  verdict: CommandVerdict,
  line: string,
  { state, facts, realPaths }: Pick<CommandJudgement, "state" | "realPaths"> & { readonly facts: CommandFacts },
): Promise<CommandVerdict> {
  if (verdict.understood.lists.length === 0) return verdict
  const names = listedNames(verdict.understood, facts)
  if (names.size === 0) return verdict
  const understood = understandCommand(line, state, { userHome: facts.userHome, listedNames: names })
  const real = await realPaths(mentionedPaths(understood))
  return joinVerdicts(
    verdict,
    classifyCommand(understood, line, { ...facts, realPath: (path) => real.get(path) ?? path }),
  )
}

const NO_SCRIPTS: PackageScripts = new Map()
const NO_PROGRAMS = { programDirectories: [], hasFile: () => Promise.resolve(false) }
