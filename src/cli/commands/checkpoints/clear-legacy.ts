import { rmSync } from "node:fs"

import { directoryBytes, legacyStores } from "../../../exec/checkpoints/prune-store.ts"
import type { Invocation } from "../../command.ts"
import { confirmed } from "../../confirmation.ts"
import { fileSize } from "../../file-size.ts"
import { openCheckpoints } from "./open-checkpoints.ts"

/** `hermes checkpoints clear-legacy` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const { store } = await openCheckpoints(invocation)
  const old = legacyStores(store.place)
  if (old.length === 0) {
    terminal.line("There are no snapshots of an older layout.")
    return 0
  }
  const bytes = old.reduce((sum, path) => sum + directoryBytes(path), 0)
  const question = `Remove the snapshots of an older layout (${old.length === 1 ? "1 store" : `${old.length} stores`}, ${fileSize(bytes)})?`
  if (!(await confirmed(question, { terminal, assumed: flags.has("force"), flag: "-f" }))) {
    terminal.line("Nothing was removed.")
    return 0
  }
  for (const path of old) rmSync(path, { recursive: true, force: true })
  terminal.line(`Freed ${fileSize(bytes)}.`)
  return 0
}
