import { writeFullBackup, type BackupReport } from "../../admin/backup/full-backup.ts"
import { takeSnapshot } from "../../admin/backup/quick-snapshot.ts"
import { counted } from "../../base/counted.ts"
import { fileSize } from "../../base/file-size.ts"
import { CliError, type Invocation } from "../command.ts"
import { valueOrCliError } from "../command-result.ts"
import { homeContext } from "../home-context.ts"

const MAX_LISTED = 10

/** `hermes backup` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags } = invocation
  if (flags.has("label") && !flags.has("quick")) throw new CliError("`--label` belongs to `--quick`.", { exitCode: 2 })
  return flags.has("quick") ? quick(invocation) : full(invocation)
}

async function quick(invocation: Invocation): Promise<number> {
  const { flags, terminal, home } = invocation
  const snapshot = valueOrCliError(await takeSnapshot(homeContext(invocation), { label: flags.text("label") }))
  terminal.line(
    `Snapshot ${snapshot.id}: ${counted(snapshot.files, "file")}, ${fileSize(snapshot.bytes)}, in ${home.display(snapshot.path)}.`,
  )
  return 0
}

async function full(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  for await (const event of writeFullBackup(homeContext(invocation), { output: flags.text("output"), signal })) {
    if (event.type === "progress") terminal.errLine(`${event.files} files …`)
    else printReport(valueOrCliError(event.result), invocation)
  }
  return 0
}

function printReport(report: BackupReport, { terminal, home }: Invocation): void {
  const output = home.display(report.output)
  terminal.line(`Packed ${counted(report.files, "file")} (${fileSize(report.bytes)}) into ${output}.`)
  for (const line of report.skipped.slice(0, MAX_LISTED)) terminal.errLine(`Not saved: ${line}`)
  if (report.skipped.length > MAX_LISTED) terminal.errLine(`Not saved: ${report.skipped.length - MAX_LISTED} more.`)
  terminal.line(`Restore it with: hermes import ${output}`)
}
