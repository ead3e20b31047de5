import { isRecord, parseJson } from "../../base/json.ts"
import { NO_USAGE, addUsage, promptTokens, type Usage } from "../../protocol/usage.ts"
import type { SessionActivity, SessionStore, StoreActivity, ToolUse } from "../../state/store.ts"
import { withSessionStore, type SessionStoreContext } from "../sessions/session-store.ts"

/** How the agent was used in a time span. Every number that `hermes insights --json` prints. */
export interface Insights {
  readonly days: number
  readonly source: string | null
  readonly overview: Overview
  readonly models: readonly ModelInsight[]
  readonly platforms: readonly { readonly name: string; readonly sessions: number; readonly messages: number }[]
  readonly tools: readonly { readonly name: string; readonly calls: number; readonly percent: number }[]
  readonly skills: readonly SkillInsight[]
  readonly activity: Activity
  readonly notable: readonly NotableSession[]
}

export interface Overview {
  readonly sessions: number
  /** Sessions of sub-agents: not counted as sessions, but in tokens and cost. */
  readonly delegates: number
  readonly messages: {
    readonly total: number
    readonly user: number
    readonly assistant: number
    readonly tool: number
  }
  readonly toolCalls: number
  readonly apiCalls: number
  readonly tokens: Usage & { readonly total: number }
  readonly estimatedCostUsd: number
  readonly actualCostUsd: number
  readonly unknownPriceSessions: number
  readonly includedPriceSessions: number
  readonly activeHours: number
  readonly averageSessionSeconds: number
  readonly averageMessages: number
}

export interface ModelInsight {
  readonly name: string
  readonly sessions: number
  readonly tokens: number
  readonly costUsd: number
}

export interface SkillInsight {
  readonly name: string
  readonly loads: number
  readonly edits: number
  /** Epoch seconds. */
  readonly lastUsed: number
}

export interface Activity {
  /** Sessions per weekday, Monday first. */
  readonly weekdays: readonly number[]
  /** Sessions per hour of the day. */
  readonly hours: readonly number[]
  /** Sessions per day of the time span, oldest first. */
  readonly perDay: readonly { readonly date: string; readonly sessions: number }[]
  readonly activeDays: number
  readonly longestStreak: number
}

export interface NotableSession {
  readonly kind: "longest" | "most-messages" | "most-tokens" | "most-tool-calls"
  readonly id: string
  readonly title: string | null
  /** Seconds for the longest, otherwise a count. */
  readonly value: number
}

export interface InsightsRequest {
  readonly days: number
  readonly source: string | undefined
  /** Of the settings; empty: that of the system. */
  readonly timeZone: string
}

/** Undefined when nothing was done in that time. */
export async function readInsights(
  context: SessionStoreContext,
  request: InsightsRequest,
): Promise<Insights | undefined> {
  context.progress?.({ step: "reading the sessions" })
  try {
    return await withSessionStore(context, (store) =>
      collectInsights(store, { ...request, now: context.clock.now() / 1000 }),
    )
  } finally {
    context.progress?.(undefined)
  }
}

const DAY_SECONDS = 86_400
const MAX_TOOLS = 15
const MAX_SKILLS = 10

export async function collectInsights(
  store: Pick<SessionStore, "activity">,
  { days, source, timeZone, now }: InsightsRequest & { readonly now: number },
): Promise<Insights | undefined> {
  const after = now - days * DAY_SECONDS
  const activity = await store.activity({ after, ...(source === undefined ? {} : { source }) })
  if (activity.sessions.length === 0) return undefined
  const own = activity.sessions.filter(({ kind }) => kind !== "delegate")
  return {
    days,
    source: source ?? null,
    overview: overviewOf(activity, own),
    models: modelsOf(activity.sessions),
    platforms: platformsOf(own),
    tools: toolsOf(activity),
    skills: skillsOf(activity.toolCalls),
    activity: activityOf(own, { days, now, timeZone }),
    notable: notableOf(own),
  }
}

function overviewOf({ sessions, messagesByRole, toolCalls }: StoreActivity, own: readonly SessionActivity[]): Overview {
  const usage = sessions.reduce((sum, session) => addUsage(sum, session.usage), NO_USAGE)
  const durations = own.map(durationOf).filter((seconds) => seconds > 0)
  const seconds = sum(durations)
  const role = (name: string): number => messagesByRole[name] ?? 0
  return {
    sessions: own.length,
    delegates: sessions.length - own.length,
    messages: {
      total: sum(Object.values(messagesByRole)),
      user: role("user"),
      assistant: role("assistant"),
      tool: role("tool"),
    },
    toolCalls: Math.max(sum(sessions.map((session) => session.toolCalls)), toolCalls.length),
    apiCalls: sum(sessions.map(({ apiCalls }) => apiCalls)),
    tokens: { ...usage, total: tokensOf(usage) },
    estimatedCostUsd: sum(sessions.map(({ estimatedCostUsd }) => estimatedCostUsd ?? 0)),
    actualCostUsd: sum(sessions.map(({ actualCostUsd }) => actualCostUsd ?? 0)),
    unknownPriceSessions: sessions.filter(({ costStatus }) => costStatus === "unknown").length,
    includedPriceSessions: sessions.filter(({ costStatus }) => costStatus === "included").length,
    activeHours: seconds / 3600,
    averageSessionSeconds: durations.length === 0 ? 0 : seconds / durations.length,
    averageMessages: own.length === 0 ? 0 : sum(own.map(({ messages }) => messages)) / own.length,
  }
}

/** Named by the part after the last `/`; most tokens first. */
function modelsOf(sessions: readonly SessionActivity[]): readonly ModelInsight[] {
  const byModel = Map.groupBy(sessions, ({ model }) => model?.split("/").at(-1) ?? "unknown")
  return Array.from(byModel, ([name, members]) => ({
    name,
    sessions: members.length,
    tokens: sum(members.map(({ usage }) => tokensOf(usage))),
    costUsd: sum(members.map(({ actualCostUsd, estimatedCostUsd }) => actualCostUsd ?? estimatedCostUsd ?? 0)),
  })).toSorted((a, b) => b.tokens - a.tokens || b.sessions - a.sessions)
}

function platformsOf(own: readonly SessionActivity[]): Insights["platforms"] {
  return Array.from(
    Map.groupBy(own, ({ source }) => source),
    ([name, members]) => ({
      name,
      sessions: members.length,
      messages: sum(members.map(({ messages }) => messages)),
    }),
  ).toSorted((a, b) => b.sessions - a.sessions)
}

/** A call and its result are two rows of one use, so the larger count is taken. */
function toolsOf({ toolCalls, toolResults }: StoreActivity): Insights["tools"] {
  const called = Map.groupBy(toolCalls, ({ name }) => name)
  const names = new Set([...called.keys(), ...Object.keys(toolResults)])
  const counts = Array.from(names, (name) => ({
    name,
    calls: Math.max(called.get(name)?.length ?? 0, toolResults[name] ?? 0),
  }))
  const all = sum(counts.map(({ calls }) => calls))
  return counts
    .map((tool) => ({ ...tool, percent: all === 0 ? 0 : (tool.calls / all) * 100 }))
    .toSorted((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_TOOLS)
}

function skillsOf(toolCalls: readonly ToolUse[]): readonly SkillInsight[] {
  const uses = toolCalls.flatMap((call) => {
    const kind = SKILL_TOOLS[call.name]
    const skill = kind === undefined ? undefined : skillName(call.arguments)
    return kind === undefined || skill === undefined ? [] : [{ kind, skill, timestamp: call.timestamp }]
  })
  return Array.from(
    Map.groupBy(uses, ({ skill }) => skill),
    ([name, members]) => ({
      name,
      loads: members.filter(({ kind }) => kind === "load").length,
      edits: members.filter(({ kind }) => kind === "edit").length,
      lastUsed: Math.max(...members.map(({ timestamp }) => timestamp)),
    }),
  )
    .toSorted((a, b) => b.loads + b.edits - (a.loads + a.edits) || b.lastUsed - a.lastUsed)
    .slice(0, MAX_SKILLS)
}

const SKILL_TOOLS: Readonly<Partial<Record<string, "load" | "edit">>> = { skill_view: "load", skill_manage: "edit" }

function skillName(json: string): string | undefined {
  const decoded = parseJson(json)
  const name = isRecord(decoded) ? decoded["name"] : undefined
  return typeof name === "string" && name !== "" ? name : undefined
}

function activityOf(
  own: readonly SessionActivity[],
  { days, now, timeZone }: { readonly days: number; readonly now: number; readonly timeZone: string },
): Activity {
  const local = localTimes(timeZone)
  const weekdays = Array.from({ length: 7 }, () => 0)
  const hours = Array.from({ length: 24 }, () => 0)
  const byDate = new Map<string, number>()
  for (const { startedAt } of own) {
    const { weekday, hour, date } = local(startedAt)
    weekdays[weekday] = (weekdays[weekday] ?? 0) + 1
    hours[hour] = (hours[hour] ?? 0) + 1
    byDate.set(date, (byDate.get(date) ?? 0) + 1)
  }
  const dates = Array.from({ length: days }, (_value, index) => local(now - (days - 1 - index) * DAY_SECONDS).date)
  const perDay = [...new Set(dates)].map((date) => ({ date, sessions: byDate.get(date) ?? 0 }))
  return { weekdays, hours, perDay, activeDays: byDate.size, longestStreak: longestRun([...byDate.keys()]) }
}

interface LocalTime {
  readonly date: string
  /** Monday is 0. */
  readonly weekday: number
  readonly hour: number
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]

function localTimes(timeZone: string): (seconds: number) => LocalTime {
  const format = new Intl.DateTimeFormat("en-GB", {
    ...(timeZone === "" ? {} : { timeZone }),
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    weekday: "short",
    hour: "2-digit",
    hourCycle: "h23",
  })
  return (seconds) => {
    const parts = new Map(format.formatToParts(seconds * 1000).map(({ type, value }) => [type, value]))
    const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? ""
    return {
      date: `${part("year")}-${part("month")}-${part("day")}`,
      weekday: Math.max(0, WEEKDAYS.indexOf(part("weekday"))),
      hour: Number(part("hour")),
    }
  }
}

/** The longest run of consecutive days. */
function longestRun(dates: readonly string[]): number {
  let longest = 0
  let run = 0
  let previous = Number.NaN
  for (const day of dates
    .map((date) => Date.parse(`${date}T00:00:00Z`) / 1000 / DAY_SECONDS)
    .toSorted((a, b) => a - b)) {
    run = day === previous + 1 ? run + 1 : 1
    previous = day
    longest = Math.max(longest, run)
  }
  return longest
}

function notableOf(own: readonly SessionActivity[]): readonly NotableSession[] {
  const measures: readonly (readonly [NotableSession["kind"], (session: SessionActivity) => number])[] = [
    ["longest", durationOf],
    ["most-messages", ({ messages }) => messages],
    ["most-tokens", ({ usage }) => tokensOf(usage)],
    ["most-tool-calls", ({ toolCalls }) => toolCalls],
  ]
  return measures.flatMap(([kind, measure]) => {
    const best = own.toSorted((a, b) => measure(b) - measure(a))[0]
    const value = best === undefined ? 0 : measure(best)
    return best === undefined || value === 0 ? [] : [{ kind, id: best.id, title: best.title, value }]
  })
}

function durationOf({ startedAt, lastAt }: SessionActivity): number {
  return Math.max(0, lastAt - startedAt)
}

function tokensOf(usage: Usage): number {
  return promptTokens(usage) + usage.output
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
