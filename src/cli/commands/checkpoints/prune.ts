import { pruneCheckpoints } from "../../../admin/checkpoints/checkpoints.ts"
import { counted } from "../../../base/counted.ts"
import { fileSize } from "../../../base/file-size.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { countedDirectories } from "./counted-directories.ts"

/** `hermes checkpoints prune` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const { snapshots, projects, bytesBefore, bytesAfter } = await pruneCheckpoints(homeContext(invocation), {
    retentionDays: flags.number("retention-days"),
    maxTotalMb: flags.number("max-size-mb"),
    deleteOrphans: !flags.has("keep-orphans"),
    signal,
  })
  const orphans = projects === 0 ? "" : ` and all of ${countedDirectories(projects)}`
  terminal.line(
    `Removed ${counted(snapshots, "snapshot")}${orphans}; the store now takes ${fileSize(bytesAfter)} (previously ${fileSize(bytesBefore)}).`,
  )
  return 0
}
