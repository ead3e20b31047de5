import { storedProviders } from "../../config/stored-logins.ts"
import { systemClock } from "../../base/clock.ts"
import { createRedactor } from "../../base/redact.ts"
import type { Home } from "../../config/home.ts"
import { chooseModel } from "../../llm/choose-model.ts"
import type { Invocation } from "../command.ts"
import { printJson } from "../json-output.ts"
import { probeProvider, type ProbeResult } from "../report/connectivity.ts"
import { sandboxState, type SandboxState } from "../report/sandbox-state.ts"
import { collectSetup, type ModelFacts, type SetupFacts } from "../report/setup-facts.ts"
import { withSessions } from "../session-store.ts"
import { loadSettings, type Settings } from "../settings-access.ts"
import { bold } from "../text-layout.ts"
import { StoreError } from "../../state/store.ts"

/** `hermes status` */
export async function run({ flags, terminal, home, environment, signal }: Invocation): Promise<number> {
  const settings = await loadSettings({ home, environment })
  const facts = collectSetup(home, settings)
  const sessions = await countSessions(home)
  const sandbox = await sandboxState(settings, signal)
  const reachable = flags.has("deep") ? await probe(settings, { home, signal: signal }) : undefined
  if (flags.has("json")) {
    printJson(terminal, statusJson(facts, { sessions, reachable, sandbox }))
    return 0
  }
  const redactor = createRedactor({ enabled: true, secrets: [] })
  for (const [title, rows] of statusSections(facts, { sessions, reachable, sandbox, all: flags.has("all") })) {
    terminal.line(bold(title, terminal.color))
    for (const [name, value] of rows) terminal.line(redactor.redact(`  ${name.padEnd(12)} ${value}`, { force: true }))
  }
  return 0
}

type SessionCounts =
  | { readonly kind: "counted"; readonly today: number; readonly total: number }
  | { readonly kind: "unreadable"; readonly reason: string }

interface Live {
  readonly sessions: SessionCounts
  readonly reachable: ProbeResult | undefined
  readonly sandbox: SandboxState
}

/** A damaged database must not keep the rest of the report from being read. */
async function countSessions(home: Home): Promise<SessionCounts> {
  const midnight = new Date(systemClock.now()).setHours(0, 0, 0, 0) / 1000
  try {
    return await withSessions<SessionCounts>(home, {
      absent: () => ({ kind: "counted", today: 0, total: 0 }),
      work: async (store) => {
        const recent = await store.list({ limit: 1000, orderBy: "started", all: true })
        return {
          kind: "counted",
          today: recent.filter((session) => session.startedAt >= midnight).length,
          total: await store.count(),
        }
      },
    })
  } catch (error) {
    if (error instanceof StoreError) return { kind: "unreadable", reason: error.message }
    throw error
  }
}

async function probe(
  { config, environment }: Settings,
  { home, signal }: { readonly home: Home; readonly signal: AbortSignal },
): Promise<ProbeResult | undefined> {
  const chosen = chooseModel({}, { config, environment, stored: storedProviders(home) })
  if (!chosen.ok || chosen.value.runtime.provider === "demo") return undefined
  return probeProvider({ address: chosen.value.runtime.baseUrl, key: chosen.value.key, signal })
}

type Rows = readonly (readonly [name: string, value: string])[]

function statusSections(
  facts: SetupFacts,
  live: Live & { readonly all: boolean },
): readonly (readonly [title: string, rows: Rows])[] {
  const { sessions, reachable, sandbox, all } = live
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
    ["Model", [...modelRows(facts.model), ...(reachable === undefined ? [] : [["provider", reachable.text] as const])]],
    [
      "Logins",
      facts.logins.map((login) => [
        login.provider,
        login.expiresAt === undefined ? "logged in" : `until ${login.expiresAt}`,
      ]),
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
      "Keys",
      facts.keys
        .filter((key) => all || key.masked !== undefined)
        .map((key) => [key.name, key.masked === undefined ? "not set" : all ? "set" : key.masked]),
    ],
  ]
  return sections.filter(([, rows]) => rows.length > 0)
}

function modelRows(model: ModelFacts): Rows {
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

function statusJson(facts: SetupFacts, { sessions, reachable, sandbox }: Live): object {
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
    provider_reachable: reachable === undefined ? null : { level: reachable.level, text: reachable.text },
    logins: facts.logins.map((login) => ({ provider: login.provider, expires_at: login.expiresAt ?? null })),
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
    keys_set: facts.keys.flatMap((key) => (key.masked === undefined ? [] : [key.name])),
  }
}
