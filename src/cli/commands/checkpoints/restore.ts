import type { Invocation } from "../../command.ts"
import { confirmed } from "../../confirmation.ts"
import { counted, oneLine } from "../../text-layout.ts"
import { granted, openCheckpoints } from "./open-checkpoints.ts"

/** `hermes checkpoints restore HASH [FILE]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, home, signal } = invocation
  const [hash = "", file] = positionals
  const { store, root } = await openCheckpoints(invocation, flags.text("dir"))
  const found = granted(await store.diff(root, hash, { file, signal }))
  const question = `Put back ${file ?? home.display(root)} as it was (${counted(found.files.length, "file")} differ in content)?`
  if (!(await confirmed(question, { terminal, assumed: flags.has("yes"), flag: "-y" }))) {
    terminal.line("Nothing was changed.")
    return 0
  }
  const { written, removed, kept, before } = granted(await store.restore(root, hash, { file, signal }))
  store.close()
  for (const path of written) terminal.line(`put back  ${oneLine(path)}`)
  for (const path of removed) terminal.line(`removed   ${oneLine(path)}`)
  for (const { path, why } of kept) terminal.errLine(`not restored: ${oneLine(path)} (${why})`)
  terminal.line(
    written.length + removed.length === 0
      ? "The files were already as they were then."
      : `To undo this: hermes checkpoints restore ${before.slice(0, 12)}`,
  )
  return kept.length === 0 ? 0 : 1
}
