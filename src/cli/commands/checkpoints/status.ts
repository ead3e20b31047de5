import { storeSizes } from "../../../exec/checkpoints/prune-store.ts"
import type { Invocation } from "../../command.ts"
import { fileSize } from "../../file-size.ts"
import { localDateTime } from "../../relative-time.ts"
import { counted, oneLine } from "../../text-layout.ts"
import { openCheckpoints } from "./open-checkpoints.ts"

/** `hermes checkpoints status` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, home, signal } = invocation
  const { store, settings } = await openCheckpoints(invocation)
  const sizes = await storeSizes(store.place, signal)
  terminal.line(`Store       ${home.display(store.place.gitDir)}`)
  terminal.line(`Size        ${fileSize(sizes.bytes)} of at most ${settings.maxTotalMb} MB`)
  terminal.line(
    `Taken       ${settings.enabled ? "before each turn that changes files" : "no (checkpoints.enabled is off)"}`,
  )
  terminal.line(`Directories ${sizes.projects.length}`)
  for (const { workdir, isGone, snapshots, named, lastTouch } of sizes.projects) {
    const extra = [...(named === 0 ? [] : [`${named} named`]), ...(isGone ? ["directory is gone"] : [])]
    const details = [counted(snapshots, "snapshot"), ...extra, `last ${localDateTime(lastTouch)}`].join(", ")
    terminal.line(`  ${oneLine(home.display(workdir))}  (${details})`)
  }
  return 0
}
