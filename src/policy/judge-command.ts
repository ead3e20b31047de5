import { classifyCommand } from "./commands/classify-command.ts"
import { mentionedPaths } from "./commands/command-paths.ts"
import type { CommandFacts } from "./commands/command-verdict.ts"
import { keepsGitSettings, updatesTree } from "./commands/git-settings.ts"
import { openedFiles, packageDirectories } from "./commands/protected-file-rules.ts"
import type { PackageScripts } from "./commands/protected-file-rules.ts"
import { patchFiles } from "./commands/patch-targets.ts"
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
}

/**
 * Understands and classifies a command line. This module loads the shell parser, so callers import it with the first command and not
 * at the start.
 */
export async function judgeCommand(
  line: string,
  { state, facts, realPaths, packageScripts, readTexts }: CommandJudgement,
): Promise<JudgedCommand> {
  const understood = understandCommand(line, state, facts)
  const real = await realPaths(mentionedPaths(understood))
  const looked: CommandFacts = { ...facts, realPath: (path) => real.get(path) ?? path }
  const settings = registryFiles(understood, facts.workspaceRoot)
  const read = [...patchFiles(understood, looked), ...settings]
  const texts = read.length === 0 ? undefined : await readTexts?.(read)
  const verdict = classifyCommand(understood, line, texts === undefined ? looked : { ...looked, texts })
  const registries =
    texts === undefined ? [] : registryHosts(new Map([...texts].filter(([path]) => settings.includes(path))))
  const packages = packageDirectories(understood)
  const scripts = packages.length === 0 ? NO_SCRIPTS : await packageScripts(packages)
  const isGit = keepsGitSettings(understood)
  return {
    line,
    verdict,
    isReadOnly: isReadOnly(understood),
    keepsGitSettings: isGit,
    updatesTree: updatesTree(understood),
    ...(registries.length === 0 ? {} : { registries }),
    opens: openedFiles(understood, { workspaceRoot: facts.workspaceRoot, scripts, keepsGitSettings: isGit }),
  }
}

const NO_SCRIPTS: PackageScripts = new Map()
