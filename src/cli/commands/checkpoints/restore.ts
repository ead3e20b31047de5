import { checkpointRoot, diffCheckpoint, restoreCheckpoint } from "../../../admin/checkpoints/checkpoints.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { homeContext } from "../../home-context.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes checkpoints restore HASH [FILE]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, signal } = invocation
  const [hash = "", file] = positionals
  const context = homeContext(invocation)
  const root = valueOrCliError(checkpointRoot(context, flags.text("dir") ?? "."))
  const diff = valueOrCliError(await diffCheckpoint(context, root, { hash, file, signal }))
  for (const path of flags.has("yes") ? [] : diff.added)
    terminal.errLine(`newer than the snapshot, will be removed: ${oneLine(path)}`)
  const question = `Restore ${file ?? home.display(root)} (${counted(diff.files.length, "file")} with different content)?`
  if (!(await confirmed(question, { terminal, assumed: flags.has("yes") }))) {
    terminal.line("Nothing was changed.")
    return 0
  }
  const restored = valueOrCliError(await restoreCheckpoint(context, root, { hash, file, signal }))
  const { written, removed, notRestored, kept, undoHash } = restored
  for (const path of written) terminal.line(`restored  ${oneLine(path)}`)
  for (const path of removed) terminal.line(`removed   ${oneLine(path)}`)
  for (const { path, why } of notRestored) terminal.errLine(`not restored: ${oneLine(path)} (${why})`)
  for (const { path, why } of kept) terminal.errLine(`left as it is: ${oneLine(path)} (${why})`)
  terminal.line(
    written.length + removed.length === 0
      ? "The files already had this content."
      : `To undo this: hermes checkpoints restore ${undoHash.slice(0, 12)}`,
  )
  return notRestored.length === 0 ? 0 : 1
}
