import { statSync } from "node:fs"
import { join, resolve } from "node:path"
import { systemClock } from "../../base/clock.ts"
import { explainSystemError } from "../../base/system-error.ts"
import { StoreError } from "../../state/store.ts"
import { writeFullBackup } from "../backup/full-backup.ts"
import { takeSnapshot } from "../backup/quick-snapshot.ts"
import { CliError, type Invocation } from "../command.ts"
import { fileSize } from "../file-size.ts"
import { counted } from "../text-layout.ts"

const LISTED = 10

/** `hermes backup` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, home } = invocation
  if (statSync(home.root, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new CliError(`There is nothing to back up: ${home.display(home.root)} does not exist.`, { exitCode: 1 })
  }
  if (flags.has("label") && !flags.has("quick")) throw new CliError("`--label` belongs to `--quick`.", { exitCode: 2 })
  return flags.has("quick") ? quick(invocation) : full(invocation)
}

async function quick({ flags, terminal, home }: Invocation): Promise<number> {
  const snapshot = await takeSnapshot(home, { clock: systemClock, label: flags.text("label") })
  terminal.line(
    `Snapshot ${snapshot.id}: ${counted(snapshot.files, "file")}, ${fileSize(snapshot.bytes)}, in ${home.display(snapshot.path)}.`,
  )
  return 0
}

async function full({ flags, terminal, home, signal }: Invocation): Promise<number> {
  const output = outputPath(flags.text("output"), home.userHome)
  try {
    const report = await writeFullBackup({
      root: home.root,
      output,
      signal,
      progress: (files) => terminal.errLine(`${files} files …`),
    })
    terminal.line(`Packed ${counted(report.files, "file")} (${fileSize(report.bytes)}) into ${home.display(output)}.`)
    for (const line of report.skipped.slice(0, LISTED)) terminal.errLine(`Not saved: ${line}`)
    if (report.skipped.length > LISTED) terminal.errLine(`Not saved: ${report.skipped.length - LISTED} more.`)
    terminal.line(`Restore it with: hermes import ${home.display(output)}`)
    return 0
  } catch (error) {
    if (signal.aborted) throw error
    const reason = error instanceof StoreError ? "no space left on the disk" : explainSystemError(error)
    throw new CliError(`Cannot write ${home.display(output)}: ${reason}.`, {
      exitCode: 1,
      cause: error,
    })
  }
}

function outputPath(given: string | undefined, userHome: string): string {
  const name = `hermes-backup-${stamp(new Date(systemClock.now()))}.zip`
  if (given === undefined) return join(userHome, name)
  const path = resolve(given)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return join(path, name)
  return path.endsWith(".zip") ? path : `${path}.zip`
}

/** Local time as `YYYY-MM-DD-HHMMSS`. */
function stamp(date: Date): string {
  const two = (value: number): string => String(value).padStart(2, "0")
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-")
  return `${day}-${two(date.getHours())}${two(date.getMinutes())}${two(date.getSeconds())}`
}
