import { checkpointStatus, clearCheckpoints } from "../../../admin/checkpoints/checkpoints.ts"
import { fileSize } from "../../../base/file-size.ts"
import type { Invocation } from "../../command.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { homeContext } from "../../home-context.ts"
import { countedDirectories } from "./counted-directories.ts"

/** `hermes checkpoints clear` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const context = homeContext(invocation)
  const { bytes, projects } = await checkpointStatus(context, signal)
  if (bytes === 0) {
    terminal.line("There are no snapshots.")
    return 0
  }
  const question = `Remove all snapshots of ${countedDirectories(projects.length)} (${fileSize(bytes)})? /rollback cannot restore them any more.`
  if (!(await confirmed(question, { terminal, assumed: flags.has("yes") || flags.has("force") }))) {
    terminal.line("Nothing was removed.")
    return 0
  }
  terminal.line(`Freed ${fileSize(await clearCheckpoints(context, signal))}.`)
  return 0
}
