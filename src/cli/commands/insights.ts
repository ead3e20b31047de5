import { readInsights, type Insights } from "../../admin/insights/insights.ts"
import { loadHome } from "../../admin/loaded-home.ts"
import { insightsText } from "../../commands/insights-text.ts"
import type { Invocation } from "../command.ts"
import { homeContext } from "../home-context.ts"
import { printJson } from "../terminal/json-output.ts"
import { outputWidth } from "../terminal/table.ts"

const DEFAULT_DAYS = 30
const COLUMNS_OF_A_FILE = 100

/** `hermes insights` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, terminal } = invocation
  const context = homeContext(invocation)
  const days = flags.number("days") ?? DEFAULT_DAYS
  const { config } = await loadHome(context)
  const insights = await readInsights(context, { days, source: flags.text("source"), timeZone: config.get("timezone") })
  if (flags.has("json")) printJson(terminal, insights === undefined ? { days, sessions: 0 } : insightsJson(insights))
  else if (insights === undefined) terminal.line(`There are no sessions in the last ${days} days.`)
  else terminal.line(insightsText(insights, { columns: outputWidth(invocation) ?? COLUMNS_OF_A_FILE }))
  return 0
}

function insightsJson({
  days,
  source,
  overview,
  models,
  platforms,
  tools,
  skills,
  activity,
  notable,
}: Insights): object {
  const { tokens } = overview
  return {
    days,
    source,
    sessions: overview.sessions,
    delegate_sessions: overview.delegates,
    messages: overview.messages,
    tool_calls: overview.toolCalls,
    api_calls: overview.apiCalls,
    tokens: {
      input: tokens.input,
      output: tokens.output,
      cache_read: tokens.cacheRead,
      cache_write: tokens.cacheWrite,
      reasoning: tokens.reasoning,
      total: tokens.total,
    },
    estimated_cost_usd: overview.estimatedCostUsd,
    actual_cost_usd: overview.actualCostUsd,
    unknown_price_sessions: overview.unknownPriceSessions,
    included_price_sessions: overview.includedPriceSessions,
    active_hours: overview.activeHours,
    average_session_seconds: overview.averageSessionSeconds,
    average_messages: overview.averageMessages,
    models: models.map(({ name, sessions, tokens: used, costUsd }) => ({
      name,
      sessions,
      tokens: used,
      cost_usd: costUsd,
    })),
    platforms,
    tools,
    skills: skills.map(({ name, loads, edits, lastUsed }) => ({ name, loads, edits, last_used: lastUsed })),
    activity: {
      weekdays: activity.weekdays,
      hours: activity.hours,
      per_day: activity.perDay,
      active_days: activity.activeDays,
      longest_streak: activity.longestStreak,
    },
    notable,
  }
}
