import type { Invocation } from "../../command.ts"
import { safeText } from "../../text-layout.ts"
import { granted, openCheckpoints } from "./open-checkpoints.ts"

/** `hermes checkpoints diff HASH [FILE]` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals, terminal, signal } = invocation
  const [hash = "", file] = positionals
  const { store, root } = await openCheckpoints(invocation, flags.text("dir"))
  const found = granted(await store.diff(root, hash, { file, signal }))
  store.close()
  if (found.files.length === 0) terminal.line("Nothing has changed since then.")
  else terminal.out(safeText(found.text))
  if (found.truncated) terminal.errLine("The rest is not shown; name a file to see it alone.")
  return 0
}
