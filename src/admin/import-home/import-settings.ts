import { isRecord } from "../../base/json.ts"
import { quoteForShell } from "../../base/quote-for-shell.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { AGENT_TITLES, valueIn, type ForeignHome } from "./foreign-home.ts"
import type { CategoryReport, ImportItem } from "./import-report.ts"

/** Proposes the model of another agent. Never changes a setting: a model decides what a conversation costs. */
export function proposeSettings({
  foreign,
  loaded,
}: {
  readonly foreign: ForeignHome
  readonly loaded: LoadedHome
}): CategoryReport {
  const model = modelOf(foreign)
  const items: ImportItem[] = []
  if (model !== undefined) {
    items.push(
      model.name === loaded.config.get("model.default")
        ? { name: `model ${model.name}`, outcome: "already-there" }
        : { name: `model ${model.name}`, outcome: "proposed", detail: proposal(model) },
    )
  }
  for (const [keys, what] of OTHER_SETTINGS[foreign.agent])
    if (valueIn(foreign.settings, ...keys) !== undefined)
      items.push({ name: keys.join("."), outcome: "skipped", detail: what })
  return { category: "settings", items, notes: [] }
}

interface ForeignModel {
  readonly name: string
  readonly provider?: string
}

/** A name that can be typed. */
const MODEL = /^[\w./:@+[\]-]{1,120}$/u

function modelOf({ agent, settings }: ForeignHome): ForeignModel | undefined {
  const value = {
    openclaw:
      valueIn(settings, "agents", "defaults", "model", "primary") ??
      valueIn(settings, "agents", "defaults", "model") ??
      valueIn(settings, "agent", "model"),
    "claude-code": valueIn(settings, "model"),
    codex: valueIn(settings, "model"),
  }[agent]
  if (typeof value !== "string" || !MODEL.test(value)) return undefined
  if (agent === "claude-code") return { name: value, provider: "anthropic" }
  const [, provider, name] = agent === "openclaw" ? (/^([\w-]+)\/(.+)$/u.exec(value) ?? []) : []
  return name === undefined || provider === undefined ? { name: value } : { name, provider }
}

/** Claude Code has short names that stand for its newest models. */
const SHORT_NAME = /^(?:default|opusplan|(?:opus|sonnet|haiku)(?:\[.*\])?)$/u

function proposal({ name, provider }: ForeignModel): string {
  if (SHORT_NAME.test(name))
    return `choose it with \`hermes model\`${provider === undefined ? "" : ` (provider ${provider})`}`
  const set = (key: string, value: string): string => `hermes config set ${key} ${quoteForShell(value)}`
  const commands = [set("model.default", name), ...(provider === undefined ? [] : [set("model.provider", provider)])]
  return `to use it: ${commands.map((command) => `\`${command}\``).join(" and ")}`
}

const OWN_RULES = "rules of other programs do not mean the same here; see `hermes permissions`"
const OWN_HOOKS = "programs that another agent started are not imported; see `hermes hooks`"

const OTHER_SETTINGS: Readonly<Record<ForeignHome["agent"], readonly [readonly string[], string][]>> = {
  openclaw: [
    [["channels"], `the channels of ${AGENT_TITLES.openclaw} are not imported`],
    [["hooks"], OWN_HOOKS],
  ],
  "claude-code": [
    [["permissions"], OWN_RULES],
    [["hooks"], OWN_HOOKS],
    [["apiKeyHelper"], OWN_HOOKS],
  ],
  codex: [
    [["approval_policy"], OWN_RULES],
    [["sandbox_mode"], OWN_RULES],
    [["notify"], OWN_HOOKS],
  ],
}

/** The variables that a settings file sets for the agent. */
export function settingsVariables({ agent, settings }: ForeignHome): Readonly<Record<string, unknown>> {
  const env = valueIn(settings, "env")
  if (!isRecord(env) || agent === "codex") return {}
  const vars = env["vars"]
  return { ...env, ...(isRecord(vars) ? vars : {}) }
}
