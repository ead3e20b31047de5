import { installedPrograms } from "./changed-shell.ts"
import type { ProgramFacts } from "./changed-shell.ts"
import { classifyCommand } from "./commands/classify-command.ts"
import { mentionedPaths } from "./commands/command-paths.ts"
import type { CommandFacts } from "./commands/command-verdict.ts"
import { keepsGitSettings, updatesTree } from "./commands/git-settings.ts"
import { dependencyFiles, dependencyHosts } from "./commands/dependency-files.ts"
import { openedFiles, packageDirectories } from "./commands/protected-file-rules.ts"
import type { PackageScripts } from "./commands/protected-file-rules.ts"
import { patchFiles } from "./commands/patch-targets.ts"
import { repositoryFiles } from "./commands/push-repository.ts"
import { registryFiles, registryHosts } from "./commands/registry-settings.ts"
import { isReadOnly } from "./commands/read-only.ts"
import type { JudgedCommand } from "./policy-request.ts"
import { understandCommand } from "./shell/understand-command.ts"
import type { ShellState } from "./shell/understood-command.ts"

export interface CommandJudgement {
  readonly state: ShellState
  readonly facts: Omit<CommandFacts, "realPath">
  /** Resolves the symbolic links of absolute paths, all at once. */
  readonly realPaths: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Reads the scripts of `package.json` in these directories. */
  readonly packageScripts: (directories: readonly string[]) => Promise<PackageScripts>
  /** Reads files whose text says what a command writes. Those that cannot be read are left out. */
  readonly readTexts?: (paths: readonly string[]) => Promise<ReadonlyMap<string, string>>
  /** Which file a program name stands for. Without it, only the workspace is known to be writable. */
  readonly programs?: Omit<ProgramFacts, "state">
}

/**
 * Understands and classifies a command line. This module loads the shell parser, so callers import it with the first command and not
 * at the start.
 */
export async function judgeCommand(
  line: string,
  { state, facts, realPaths, packageScripts, readTexts, programs }: CommandJudgement,
): Promise<JudgedCommand> {
  const understood = understandCommand(line, state, facts)
  const real = await realPaths(mentionedPaths(understood))
  const looked: CommandFacts = { ...facts, realPath: (path) => real.get(path) ?? path }
  const settings = registryFiles(understood, facts.workspaceRoot)
  const dependencies = dependencyFiles(understood)
  const read = [...dependencies, ...patchFiles(understood, looked), ...repositoryFiles(understood, looked), ...settings]
  const texts = read.length === 0 ? undefined : await readTexts?.(read)
  const verdict = classifyCommand(understood, line, texts === undefined ? looked : { ...looked, texts })
  const textsOf = (paths: readonly string[]): ReadonlyMap<string, string> =>
    new Map([...(texts ?? [])].filter(([path]) => paths.includes(path)))
  const registries = [...new Set([...registryHosts(textsOf(settings)), ...dependencyHosts(textsOf(dependencies))])]
  const packages = packageDirectories(understood)
  const scripts = packages.length === 0 ? NO_SCRIPTS : await packageScripts(packages)
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

const NO_SCRIPTS: PackageScripts = new Map()
const NO_PROGRAMS = { programDirectories: [], hasFile: () => Promise.resolve(false) }
