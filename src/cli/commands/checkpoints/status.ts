import { checkpointStatus } from "../../../admin/checkpoints/checkpoints.ts"
import { counted } from "../../../base/counted.ts"
import { fileSize } from "../../../base/file-size.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { localDateTime } from "../../../terminal/relative-time.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes checkpoints status` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, home, signal, flags } = invocation
  const status = await checkpointStatus(homeContext(invocation), signal)
  if (flags.has("json")) {
    printJson(terminal, {
      path: status.path,
      bytes: status.bytes,
      max_total_mb: status.maxTotalMb,
      enabled: status.enabled,
      directories: status.projects.map(({ workdir, isDeleted, snapshots, named, lastTouch }) => ({
        workdir,
        deleted: isDeleted,
        snapshots,
        named,
        last_touch: lastTouch,
      })),
    })
    return 0
  }
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
