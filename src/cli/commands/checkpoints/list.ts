import { checkpointRoot, listCheckpoints } from "../../../admin/checkpoints/checkpoints.ts"
import { counted } from "../../../base/counted.ts"
import type { Snapshot } from "../../../exec/checkpoints/snapshot-list.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { printTable } from "../../terminal/table.ts"

const DEFAULT_LIMIT = 20

/** `hermes checkpoints list` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home, signal } = invocation
  const context = homeContext(invocation)
  const root = valueOrCliError(checkpointRoot(context, flags.text("dir") ?? "."))
  const snapshots = await listCheckpoints(context, root, { limit: flags.number("limit") ?? DEFAULT_LIMIT, signal })
  if (flags.has("json")) printJson(terminal, snapshots)
  else if (snapshots.length === 0) terminal.line(`There are no snapshots of ${home.display(root)}.`)
  else {
    const rows = snapshots.map((snapshot, index) => [
      snapshot.short,
      localDateTime(snapshot.time),
      snapshot.reason,
      changesText(snapshot, snapshots[index - 1]),
    ])
    printTable([{}, {}, { flexible: true }, {}], rows, invocation)
  }
  return 0
}

/** The changes between a snapshot and the next one, whose record has them. */
function changesText({ files }: Snapshot, next: Snapshot | undefined): string {
  if (files !== undefined) return `(only ${counted(files.length, "file")})`
  if (next === undefined || next.filesChanged === 0) return ""
  return `(${counted(next.filesChanged, "file")}, +${next.insertions} -${next.deletions})`
}
