import { checkpointRoot, diffCheckpoint } from "../../../admin/checkpoints/checkpoints.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { plainText } from "../../../terminal/printable-text.ts"

/** `hermes checkpoints diff HASH [FILE]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, signal } = invocation
  const [hash = "", file] = positionals
  const context = homeContext(invocation)
  const root = valueOrCliError(checkpointRoot(context, flags.text("dir") ?? "."))
  const diff = valueOrCliError(await diffCheckpoint(context, root, { hash, file, signal }))
  if (diff.files.length === 0) terminal.line("Nothing has changed since then.")
  else terminal.out(plainText(diff.text))
  if (diff.truncated) terminal.errLine("The diff is too long to show completely; name a file to see its diff alone.")
  return 0
}
