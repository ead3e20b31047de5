import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { localDateTime } from "../../relative-time.ts"
import { counted, oneLine } from "../../text-layout.ts"
import { openCheckpoints } from "./open-checkpoints.ts"

const DEFAULT_LIMIT = 20

/** `hermes checkpoints list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home, signal } = invocation
  const { store, root } = await openCheckpoints(invocation, flags.text("dir"))
  const limit = flags.number("limit") ?? DEFAULT_LIMIT
  const snapshots = await store.list(root, { limit, signal })
  if (flags.has("json")) printJson(terminal, snapshots)
  else if (snapshots.length === 0) terminal.line(`There are no snapshots of ${home.display(root)}.`)
  else
    for (const { short, time, reason, filesChanged, insertions, deletions } of snapshots) {
      const changes = filesChanged === 0 ? "" : `  (${counted(filesChanged, "file")}, +${insertions} -${deletions})`
      terminal.line(`${short}  ${localDateTime(time)}  ${oneLine(reason)}${changes}`)
    }
  return 0
}
