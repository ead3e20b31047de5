import { CliError, type Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { isShell, renderCompletion } from "../completion/render-completion.ts"
import { completionCandidates, isCandidateKind } from "../../admin/completion/candidates.ts"

/** Runs `hermes completion bash|zsh|fish`. The completion scripts call it with `--candidates KIND`. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, tree } = invocation
  const kind = flags.text("candidates")
  if (kind !== undefined) {
    if (!isCandidateKind(kind)) throw new CliError(`Unknown kind of candidates \`${kind}\`.`, { exitCode: 2 })
    for (const word of await completionCandidates(kind, homeContext(invocation))) terminal.line(word)
    return 0
  }
  const [shell] = positionals
  if (shell === undefined || !isShell(shell)) {
    throw new CliError("Name your shell: hermes completion bash, hermes completion zsh or hermes completion fish.", {
      exitCode: 2,
    })
  }
  terminal.out(renderCompletion(shell, tree))
  return 0
}
