import { systemClock } from "../../../base/clock.ts"
import { pruneStore } from "../../../exec/checkpoints/prune-store.ts"
import type { Invocation } from "../../command.ts"
import { fileSize } from "../../file-size.ts"
import { counted } from "../../text-layout.ts"
import { openCheckpoints } from "./open-checkpoints.ts"

/** `hermes checkpoints prune` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const { store, settings } = await openCheckpoints(invocation)
  const report = await pruneStore(store.place, {
    retentionDays: flags.number("retention-days") ?? settings.retentionDays,
    maxTotalMb: flags.number("max-size-mb") ?? settings.maxTotalMb,
    maxSnapshots: settings.maxSnapshots,
    deleteOrphans: !flags.has("keep-orphans"),
    clock: systemClock,
    signal,
  })
  const gone =
    report.projects === 0
      ? ""
      : ` and all of ${report.projects === 1 ? "1 directory" : `${report.projects} directories`}`
  terminal.line(
    `Removed ${counted(report.snapshots, "snapshot")}${gone}; the store has ${fileSize(report.bytesAfter)} now, ${fileSize(report.bytesBefore)} before.`,
  )
  return 0
}
