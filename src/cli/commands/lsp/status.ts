import { serverStatus, type ServerStatus } from "../../../admin/language-servers/server-status.ts"
import { counted } from "../../../base/counted.ts"
import type { Invocation } from "../../command.ts"
import { homeContext } from "../../home-context.ts"
import { printJson } from "../../terminal/json-output.ts"
import { relativeTime } from "../../../terminal/relative-time.ts"
import { outputWidth, tableLines } from "../../terminal/table.ts"
import { oneLine } from "../../../terminal/text-layout.ts"

/** `hermes lsp status` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home, signal } = invocation
  const context = homeContext(invocation)
  const status = await serverStatus(context, { directory: process.cwd(), signal })
  if (flags.has("json")) {
    printJson(terminal, statusJson(status))
    return 0
  }
  const { unusedReason, workTree, servers, failures, problems } = status
  terminal.line(unusedReason ?? `Language servers check every write in ${home.display(workTree)}.`)
  const rows = servers.map(({ name, files, text }) => [name, counted(files, "file"), text])
  for (const line of tableLines([{}, { align: "right" }, {}], rows, { width: outputWidth(invocation), indent: "  " })) {
    terminal.line(line)
  }
  if (unusedReason === undefined && servers.length === 0) {
    terminal.line("  No file here is in a language with a known server.")
  }
  if (failures.length > 0) {
    terminal.line("Failed within the last hour. They start again after an hour, or after `hermes lsp restart`:")
    for (const { server, root, reason, at } of failures) {
      const when = relativeTime(at / 1000, context.clock.now() / 1000)
      terminal.line(`  ${oneLine(server)} in ${oneLine(home.display(root))}, ${when}: ${oneLine(reason)}`)
    }
  }
  for (const problem of problems) terminal.errLine(problem)
  return 0
}

function statusJson({ unusedReason, workTree, servers, failures }: ServerStatus): object {
  return {
    in_use: unusedReason === undefined,
    reason: unusedReason ?? null,
    project: workTree ?? null,
    servers: servers.map(({ name, files, state, text, program }) => ({
      name,
      files,
      state,
      text,
      command: program?.command ?? null,
    })),
    failures,
  }
}
