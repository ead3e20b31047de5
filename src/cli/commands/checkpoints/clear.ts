import { clearStore, storeSizes } from "../../../exec/checkpoints/prune-store.ts"
import type { Invocation } from "../../command.ts"
import { confirmed } from "../../confirmation.ts"
import { fileSize } from "../../file-size.ts"
import { openCheckpoints } from "./open-checkpoints.ts"

/** `hermes checkpoints clear` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const { store } = await openCheckpoints(invocation)
  const { bytes, projects } = await storeSizes(store.place, signal)
  if (bytes === 0) {
    terminal.line("There are no snapshots.")
    return 0
  }
  const places = projects.length === 1 ? "1 directory" : `${projects.length} directories`
  const question = `Remove all snapshots of ${places} (${fileSize(bytes)})? /rollback cannot go back to them any more.`
  if (!(await confirmed(question, { terminal, assumed: flags.has("force"), flag: "-f" }))) {
    terminal.line("Nothing was removed.")
    return 0
  }
  terminal.line(`Freed ${fileSize(await clearStore(store.place, signal))}.`)
  return 0
}
