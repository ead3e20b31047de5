import { CliError, type Invocation } from "../command.ts"
import { isShell, renderCompletion } from "../completion.ts"
import { candidates, isCandidateKind } from "../completion/candidates.ts"

/** `hermes completion bash|zsh|fish`; the scripts call it with `--candidates KIND`. */
export async function run({ flags, positionals, terminal, environment, home, tree }: Invocation): Promise<number> {
  const kind = flags.text("candidates")
  if (kind !== undefined) {
    if (!isCandidateKind(kind)) throw new CliError(`There are no candidates of the kind \`${kind}\`.`, { exitCode: 2 })
    for (const word of await candidates(kind, { home, environment })) terminal.line(word)
    return 0
  }
  const [shell] = positionals
  if (shell === undefined || !isShell(shell)) {
    throw new CliError("Name your shell: hermes completion bash, zsh or fish.", { exitCode: 2 })
  }
  terminal.out(renderCompletion(shell, tree))
  return 0
}
