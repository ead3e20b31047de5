import { findLegacyCheckpoints, removeLegacyCheckpoints } from "../../../admin/checkpoints/checkpoints.ts"
import { counted } from "../../../base/counted.ts"
import { fileSize } from "../../../base/file-size.ts"
import type { Invocation } from "../../command.ts"
import { confirmed } from "../../terminal/confirmation.ts"
import { homeContext } from "../../home-context.ts"

/** `hermes checkpoints clear-legacy` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const legacy = await findLegacyCheckpoints(homeContext(invocation))
  if (legacy.paths.length === 0) {
    terminal.line("There are no snapshots of an older layout.")
    return 0
  }
  const size = fileSize(legacy.bytes)
  const question = `Remove the snapshots of an older layout (${counted(legacy.paths.length, "store")}, ${size})?`
  if (!(await confirmed(question, { terminal, assumed: flags.has("yes") || flags.has("force") }))) {
    terminal.line("Nothing was removed.")
    return 0
  }
  removeLegacyCheckpoints(legacy)
  terminal.line(`Freed ${size}.`)
  return 0
}
