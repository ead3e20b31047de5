import { classifyCommand } from "./commands/classify-command.ts"
import { mentionedPaths } from "./commands/command-paths.ts"
import type { CommandFacts } from "./commands/command-verdict.ts"
import { keepsGitSettings } from "./commands/git-settings.ts"
import { openedFiles, packageDirectories } from "./commands/protected-file-rules.ts"
import type { PackageScripts } from "./commands/protected-file-rules.ts"
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
}

/**
 * Understands and classifies a command line. This module loads the shell parser, so callers import it with the first command and not
 * at the start.
 */
export async function judgeCommand(
  line: string,
  { state, facts, realPaths, packageScripts }: CommandJudgement,
): Promise<JudgedCommand> {
  const understood = understandCommand(line, state, facts)
  const real = await realPaths(mentionedPaths(understood))
  const verdict = classifyCommand(understood, line, { ...facts, realPath: (path) => real.get(path) ?? path })
  const packages = packageDirectories(understood)
  const scripts = packages.length === 0 ? NO_SCRIPTS : await packageScripts(packages)
  const isGit = keepsGitSettings(understood)
  return {
    line,
    verdict,
    isReadOnly: isReadOnly(understood),
    keepsGitSettings: isGit,
    opens: openedFiles(understood, { workspaceRoot: facts.workspaceRoot, scripts, keepsGitSettings: isGit }),
  }
}

const NO_SCRIPTS: PackageScripts = new Map()
