import { systemClock } from "../../../base/clock.ts"
import type { LocatedProgram } from "../../../exec/language-server/find-server.ts"
import { projectServers } from "../../../exec/language-server/project-servers.ts"
import type { ConfiguredServer } from "../../../exec/language-server/server-settings.ts"
import type { Invocation } from "../../command.ts"
import { printJson } from "../../json-output.ts"
import { relativeTime } from "../../relative-time.ts"
import { sandboxState } from "../../report/sandbox-state.ts"
import { counted, oneLine } from "../../text-layout.ts"
import { howToInstall, serverReport } from "./server-report.ts"
import type { ServerReport } from "./server-report.ts"

const NAME_COLUMNS = 16

/** `hermes lsp status` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, home, signal } = invocation
  const report = await serverReport(invocation)
  const walls = (await sandboxState(report.settings, signal)).kind === "on"
  const used = report.tree === undefined ? [] : projectServers(report.tree, report.servers)
  const rows = used.map(({ server, files }) => ({ server, files, ...stateOf(server, { report, walls }) }))
  const unusable = whyUnused(report)
  if (flags.has("json")) {
    printJson(terminal, {
      in_use: unusable === undefined,
      reason: unusable ?? null,
      project: report.tree ?? null,
      servers: rows.map(({ server, files, state, text, program }) => ({
        name: server.name,
        files,
        state,
        text,
        command: program?.command ?? null,
      })),
      failures: report.broken,
    })
    return 0
  }
  terminal.line(unusable ?? `Language servers are asked after each write in ${home.display(report.tree)}.`)
  for (const { server, files, text } of rows) {
    terminal.line(`  ${oneLine(server.name).padEnd(NAME_COLUMNS)} ${oneLine(text)}  (${counted(files, "file")})`)
  }
  if (unusable === undefined && rows.length === 0) terminal.line("  No file here is of a language with a known server.")
  if (report.broken.length > 0) {
    terminal.line("Failed within the last hour, and left alone until then or until `hermes lsp restart`:")
    for (const { server, root, reason, at } of report.broken) {
      const when = relativeTime(at / 1000, systemClock.now() / 1000)
      terminal.line(`  ${oneLine(server)} in ${oneLine(home.display(root))}, ${when}: ${oneLine(reason)}`)
    }
  }
  for (const problem of report.problems) terminal.errLine(problem)
  return 0
}

function whyUnused({ settings: { config }, tree }: ServerReport): string | undefined {
  if (!config.get("lsp.enabled")) return "Language servers are switched off by lsp.enabled."
  const backend = config.get("terminal.backend")
  if (backend !== "local") return `Language servers are not used: files are in ${backend}, not on this machine.`
  return tree === undefined ? "Language servers are not used here: this is no git work tree." : undefined
}

interface ServerState {
  readonly state: "ready" | "failed" | "needs-sandbox" | "missing"
  readonly text: string
  readonly program: LocatedProgram | undefined
}

function stateOf(
  server: ConfiguredServer,
  { report, walls }: { readonly report: ServerReport; readonly walls: boolean },
): ServerState {
  const program = report.locate(server)
  if (program === undefined) return { state: "missing", text: `not installed: ${howToInstall(server)}`, program }
  const path = program.command.join(" ")
  if (report.broken.some((one) => one.server === server.name && one.root.startsWith(report.tree ?? ""))) {
    return { state: "failed", text: `failed, see below: ${path}`, program }
  }
  if (program.needsWalls && !walls) {
    const text = `not started: it runs parts of the project, and there is no sandbox; trust it with lsp.servers.${server.name}.trusted`
    return { state: "needs-sandbox", text, program }
  }
  return { state: "ready", text: path, program }
}
