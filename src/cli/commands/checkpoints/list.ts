import { checkpointRoot, listCheckpoints } from "../../../admin/checkpoints/checkpoints.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { localDateTime } from "../../terminal/relative-time.ts"
import { oneLine } from "../../terminal/text-layout.ts"

const DEFAULT_LIMIT = 20

/** `hermes checkpoints list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home, signal } = invocation
  const context = homeContext(invocation)
  const root = checkpointRoot(context, flags.text("dir") ?? ".")
  const snapshots = await listCheckpoints(context, root, { limit: flags.number("limit") ?? DEFAULT_LIMIT, signal })
  if (flags.has("json")) printJson(terminal, snapshots)
  else if (snapshots.length === 0) terminal.line(`There are no snapshots of ${home.display(root)}.`)
  else
    for (const { short, time, reason, filesChanged, insertions, deletions } of snapshots) {
      const changes = filesChanged === 0 ? "" : `  (${counted(filesChanged, "file")}, +${insertions} -${deletions})`
      terminal.line(`${short}  ${localDateTime(time)}  ${oneLine(reason)}${changes}`)
    }
  return 0
}
