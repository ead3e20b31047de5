import { assertNever } from "../../base/assert-never.ts"
import { isRecord } from "../../base/json.ts"
import { ellipsize } from "../../base/text.ts"
import { ok, type Result } from "../../base/result.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { foreignServersIn, type ForeignServer } from "../mcp/foreign-servers.ts"
import { addForeignServers } from "../mcp/import-servers.ts"
import { decodeSettings, valueIn, type ForeignHome } from "./foreign-home.ts"
import type { CategoryReport, ImportItem } from "./import-report.ts"

export interface ServerImport {
  readonly foreign: ForeignHome
  readonly loaded: LoadedHome
  readonly dryRun: boolean
  readonly includeSecrets: boolean
}

export interface ServersReport {
  readonly report: CategoryReport
  /** Variables of `.env` for secrets that were found. */
  readonly secrets: readonly string[]
}

/** Copies MCP servers as disabled ones: the program that another agent started may not be here, or not be trusted any more. */
export async function importForeignServers(options: ServerImport): Promise<Result<ServersReport, AdminFailure>> {
  const { foreign, loaded, dryRun, includeSecrets } = options
  const found = await findServers(foreign)
  const added = await addForeignServers(loaded, found, {
    dryRun,
    disabled: true,
    secrets: includeSecrets ? "store" : "leave",
  })
  if (!added.ok) return added
  const items = added.value.map(({ name, skipped, exists, stored, missing, target = "" }): ImportItem => {
    if (exists === true) return { name, outcome: "already-there" }
    if (skipped !== undefined) return { name, outcome: "skipped", detail: skipped }
    const secrets = stored.length > 0 ? [`its secrets are in .env as ${stored.join(", ")}`] : []
    const needs = missing.length > 0 ? [`set ${missing.join(", ")} in .env`] : []
    return {
      name,
      outcome: "imported",
      detail: [`disabled, ${ellipsize(target, MAX_TARGET, "…")}`, ...secrets, ...needs].join("; "),
    }
  })
  const first = items.find(({ outcome }) => outcome === "imported")?.name
  const notes =
    first === undefined
      ? []
      : [
          `Imported servers are disabled. Test one with \`hermes mcp test ${first}\` and enable it with \`hermes config set mcp_servers.${first}.enabled true\`.`,
        ]
  return ok({
    report: { category: "mcp", items, notes },
    secrets: added.value.flatMap(({ secrets }) => secrets),
  })
}

const MAX_BYTES = 50_000_000
const MAX_TARGET = 120

async function findServers({ agent, files, beside, settings }: ForeignHome): Promise<readonly ForeignServer[]> {
  switch (agent) {
    case "openclaw":
      return [
        ...foreignServersIn("openclaw", valueIn(settings, "mcp", "servers"), "openclaw.json"),
        ...foreignServersIn("openclaw", valueIn(settings, "mcpServers"), "openclaw.json"),
      ]
    case "codex":
      return foreignServersIn("codex", valueIn(settings, "mcp_servers"), "config.toml")
    case "claude-code": {
      const name = ".claude.json"
      const text = files.read(name, { maxBytes: MAX_BYTES }) ?? beside?.read(name, { maxBytes: MAX_BYTES })
      const document = text === undefined ? undefined : await decodeSettings(name, text)
      const projects = valueIn(document, "projects")
      return [
        ...foreignServersIn("claude-code", valueIn(document, "mcpServers"), name),
        ...Object.values(isRecord(projects) ? projects : {}).flatMap((project) =>
          foreignServersIn("claude-code", valueIn(project, "mcpServers"), name),
        ),
      ]
    }
    default:
      return assertNever(agent)
  }
}
