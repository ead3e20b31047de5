import { checkpointStatus } from "../../../admin/checkpoints/checkpoints.ts"
import { counted } from "../../../base/counted.ts"
import { fileSize } from "../../../base/file-size.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes checkpoints status` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, home, signal } = invocation
  const status = await checkpointStatus(homeContext(invocation), signal)
  terminal.line(`Store       ${home.display(status.path)}`)
  terminal.line(`Size        ${fileSize(status.bytes)} of at most ${status.maxTotalMb} MB`)
  terminal.line(
    `Taken       ${status.enabled ? "before each turn that changes files" : "no (checkpoints.enabled is off)"}`,
  )
  terminal.line(`Directories ${status.projects.length}`)
  for (const { workdir, isDeleted, snapshots, named, lastTouch } of status.projects) {
    const extra = [...(named === 0 ? [] : [`${named} named`]), ...(isDeleted ? ["directory was deleted"] : [])]
    const details = [counted(snapshots, "snapshot"), ...extra, `last ${localDateTime(lastTouch)}`].join(", ")
    terminal.line(`  ${oneLine(home.display(workdir))}  (${details})`)
  }
  return 0
}
