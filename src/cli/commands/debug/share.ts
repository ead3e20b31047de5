import { readLogTails } from "../../../admin/report/log-tails.ts"
import { CliError, type Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { dumpLines } from "../dump.ts"

const DEFAULT_LINES = 200

/** `hermes debug share --local`: the setup and the end of each log, with secrets and e-mail addresses masked. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  if (!flags.has("local"))
    throw new CliError("Uploading a report is not available in this release; `--local` prints it.", { exitCode: 1 })
  const redacts = !flags.has("no-redact")
  if (!redacts) await confirmPlain(invocation)
  const logs = await readLogTails(homeContext(invocation), { lines: flags.number("lines") ?? DEFAULT_LINES, redacts })
  for (const line of await dumpLines(invocation, { showKeys: false })) terminal.line(line)
  for (const { name, lines } of logs) {
    terminal.line(`--- ${name}, last ${lines.length} lines ---`)
    for (const line of lines) terminal.line(line)
  }
  terminal.errLine(
    redacts
      ? "Read it before you pass it on: secrets are masked, but file names and what you wrote are not."
      : "Nothing in the logs is masked. Do not pass this on.",
  )
  return 0
}

const TYPED = "show secrets"

async function confirmPlain({ terminal }: Invocation): Promise<void> {
  const answer = await terminal.ask(`The logs may contain secrets. Type "${TYPED}" to print them as they are: `)
  if (answer?.trim() !== TYPED)
    throw new CliError(
      `Nothing was printed. Type ${TYPED} to print the report with its secrets, or leave --no-redact out.`,
      { exitCode: 1 },
    )
}
