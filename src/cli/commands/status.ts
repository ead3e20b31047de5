import { homeStatus, type HomeStatus } from "../../admin/report/home-status.ts"
import type { SandboxState } from "../../admin/report/sandbox-state.ts"
import type { KeyFacts, ConfiguredModelFacts } from "../../admin/report/setup-facts.ts"
import { createRedactor } from "../../base/redact.ts"
import type { Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { printJson } from "../terminal/json-output.ts"
import { ellipsize } from "../../base/text.ts"
import { bold, oneLine } from "../../terminal/text-layout.ts"
import { buildId, VERSION } from "../version.ts"

/** `hermes status` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal, signal } = invocation
  const program = { version: VERSION, build: buildId() }
  const status = await homeStatus(homeContext(invocation), { program, probe: flags.has("deep"), signal })
  if (flags.has("json")) {
    printJson(terminal, statusJson(status))
    return 0
  }
  for (const [title, rows] of statusSections(status, { all: flags.has("all") })) {
    terminal.styledLine(bold(title, terminal.color))
    for (const [name, value] of rows) terminal.line(redact(`  ${name.padEnd(12)} ${value}`))
  }
  return 0
}

function redact(text: string): string {
  return createRedactor({ enabled: true, secrets: [] }).redact(text, { force: true })
}

type Rows = readonly (readonly [name: string, value: string])[]

function statusSections(
  { setup: facts, authProblems, sessions, sandbox, provider, processes }: HomeStatus,
  { all }: { readonly all: boolean },
): readonly (readonly [title: string, rows: Rows])[] {
  const terminalNote = facts.terminalOverride === undefined ? "" : ` (set by ${facts.terminalOverride})`
  const sections: readonly (readonly [string, Rows])[] = [
    [
      "Environment",
      [
        ["version", `${facts.version} (${facts.build})`],
        ["system", facts.system],
        ["runtime", facts.runtime],
        ["profile", facts.profile],
        ["home", facts.home],
      ],
    ],
    ["Model", [...modelRows(facts.model), ...(provider === undefined ? [] : [["provider", provider.text] as const])]],
    [
      "Logins",
      [
        ...authProblems.map((problem) => ["not usable", problem] as const),
        ...facts.logins.map(
          (login) =>
            [login.provider, login.expiresAt === undefined ? "logged in" : `until ${login.expiresAt}`] as const,
        ),
      ],
    ],
    [
      "Work",
      [
        ["terminal", `${facts.terminalBackend}${terminalNote}`],
        ["sandbox", sandboxText(sandbox)],
        ["permissions", facts.permissionProfile],
        ["memory", facts.memoryProvider],
        ["skills", String(facts.skills)],
        ["MCP servers", String(facts.mcpServers)],
      ],
    ],
    [
      "Services",
      [
        ["gateway", facts.gatewayPid === undefined ? "not running" : `runs as process ${facts.gatewayPid}`],
        ["platforms", facts.platforms.length === 0 ? "none" : facts.platforms.join(", ")],
        ["jobs", `${facts.jobs.active} active of ${facts.jobs.total}`],
      ],
    ],
    [
      "Sessions",
      [
        ["today", sessions.kind === "counted" ? String(sessions.today) : sessions.reason],
        ["total", sessions.kind === "counted" ? String(sessions.total) : "unknown"],
      ],
    ],
    [
      processes.length === 0 ? "Background processes" : `Background processes (${processes.length})`,
      processRows(processes),
    ],
    [
      "Keys",
      facts.keys
        .filter((key) => all || key.state !== "missing")
        .map((key) => [key.name, keyText(key, { masked: !all })]),
    ],
  ]
  return sections.filter(([, rows]) => rows.length > 0)
}

const MAX_PROCESSES = 10
const MAX_COMMAND_COLUMNS = 60

/** They outlived a Hermes that was killed. */
function processRows(processes: HomeStatus["processes"]): Rows {
  if (processes.length === 0) return []
  const shown = processes
    .slice(0, MAX_PROCESSES)
    .map(({ command, pid }) => [`pid ${pid}`, ellipsize(oneLine(command), MAX_COMMAND_COLUMNS)] as const)
  const more = processes.length - shown.length
  return [
    ...shown,
    ...(more > 0 ? [["more", String(more)] as const] : []),
    ["to end them", "start `hermes` and type /stop"],
  ]
}

function keyText(key: KeyFacts, { masked }: { readonly masked: boolean }): string {
  if (key.state === "missing") return "not set"
  if (key.state === "removed") return "not used: removed with `hermes auth remove`"
  return masked ? key.masked : "set"
}

function modelRows(model: ConfiguredModelFacts): Rows {
  if (model.kind === "unusable") return [["not usable", model.reason]]
  const demo = model.demo ? " (nothing is configured, so the demo model answers)" : ""
  return [
    ["model", `${model.model}${demo}`],
    ["provider", model.provider],
    ...(model.address === "" ? [] : [["address", model.address] as const]),
    [model.keySource === "none needed" ? "key" : "key from", model.keySource],
  ]
}

function sandboxText(sandbox: SandboxState): string {
  if (sandbox.kind !== "missing") return sandbox.text
  return `${sandbox.required ? "none, so no command runs" : "none"}: ${sandbox.text}`
}

function statusJson(status: HomeStatus): object {
  const { setup: facts, authProblems, sessions, sandbox, provider, processes } = status
  const { model } = facts
  return {
    version: facts.version,
    build: facts.build,
    system: facts.system,
    runtime: facts.runtime,
    profile: facts.profile,
    home: facts.home,
    model:
      model.kind === "chosen"
        ? {
            name: model.model,
            provider: model.provider,
            address: model.address,
            key_source: model.keySource,
            demo: model.demo,
          }
        : { error: model.reason },
    provider_reachable: provider === undefined ? null : { level: provider.level, text: provider.text },
    logins: facts.logins.map((login) => ({ provider: login.provider, expires_at: login.expiresAt ?? null })),
    login_problems: authProblems,
    terminal_backend: facts.terminalBackend,
    sandbox: { state: sandbox.kind, text: sandbox.text },
    permission_profile: facts.permissionProfile,
    memory_provider: facts.memoryProvider,
    skills: facts.skills,
    mcp_servers: facts.mcpServers,
    platforms: facts.platforms,
    gateway_pid: facts.gatewayPid ?? null,
    jobs: facts.jobs,
    sessions:
      sessions.kind === "counted" ? { today: sessions.today, total: sessions.total } : { error: sessions.reason },
    background_processes: processes.map(({ command, pid }) => ({ command: redact(command), pid })),
    keys_set: facts.keys.flatMap(({ name, state }) => (state === "set" ? [name] : [])),
  }
}
