import type { Insights, NotableSession } from "../admin/insights/insights.ts"
import { compactCount, compactDuration } from "../base/compact-count.ts"
import { counted } from "../base/counted.ts"
import { localDate } from "../terminal/relative-time.ts"
import { fitColumn, oneLine } from "../terminal/text-layout.ts"
import { takeColumns, textColumns } from "../terminal/text-width.ts"

/** Insights as text with charts. No line is longer than `columns`. */
export function insightsText(insights: Insights, { columns }: { readonly columns: number }): string {
  const { models, platforms, tools, skills } = insights
  const hasPlatforms = platforms.some(({ name }) => name !== "cli")
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    [`The last ${counted(insights.days, "day")}`, overviewLines(insights)],
    [
      "Models",
      barLines(
        models.map(({ name, tokens, sessions, costUsd }) => ({
          name,
          value: tokens,
          text: `${compactCount(tokens)} tokens, ${counted(sessions, "session")}${costUsd > 0 ? `, ${dollars(costUsd)}` : ""}`,
        })),
      ),
    ],
    [
      "Platforms",
      hasPlatforms
        ? barLines(
            platforms.map(({ name, sessions, messages }) => ({
              name,
              value: sessions,
              text: `${counted(sessions, "session")}, ${counted(messages, "message")}`,
            })),
          )
        : [],
    ],
    [
      "Tools",
      barLines(
        tools.map(({ name, calls, percent }) => ({ name, value: calls, text: `${calls} (${percent.toFixed(1)} %)` })),
      ),
    ],
    [
      "Skills",
      skills.map(
        ({ name, loads, edits, lastUsed }) =>
          `  ${oneLine(name)}  ${counted(loads, "load")}, ${counted(edits, "edit")}, last used ${localDate(lastUsed)}`,
      ),
    ],
    ["Activity", activityLines(insights, columns)],
    ["Notable sessions", insights.notable.map(notableLine)],
  ]
  return sections
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => [title, ...lines].map((line) => cut(line, columns)).join("\n"))
    .join("\n\n")
}

function overviewLines({ overview }: Insights): readonly string[] {
  const { messages, tokens, unknownPriceSessions, includedPriceSessions } = overview
  const cost = [
    overview.actualCostUsd > 0 ? dollars(overview.actualCostUsd) : `~${dollars(overview.estimatedCostUsd)}`,
    ...(includedPriceSessions === 0 ? [] : [`${counted(includedPriceSessions, "session")} included in a plan`]),
    ...(unknownPriceSessions === 0 ? [] : [`${counted(unknownPriceSessions, "session")} without a known price`]),
  ]
  const cached = tokens.cacheRead + tokens.cacheWrite
  const rows: readonly (readonly [string, string])[] = [
    ["sessions", `${overview.sessions}${overview.delegates === 0 ? "" : `, and ${overview.delegates} of sub-agents`}`],
    ["messages", `${messages.total} (you ${messages.user}, model ${messages.assistant}, tools ${messages.tool})`],
    ["tool calls", String(overview.toolCalls)],
    [
      "tokens",
      `${compactCount(tokens.total)} (input ${compactCount(tokens.input)}, output ${compactCount(tokens.output)}${cached === 0 ? "" : `, cache ${compactCount(cached)}`})`,
    ],
    ["cost", cost.join(", ")],
    [
      "active",
      `${overview.activeHours.toFixed(1)} hours, ${compactDuration(overview.averageSessionSeconds)} per session on average`,
    ],
    ["average", `${overview.averageMessages.toFixed(1)} messages per session`],
  ]
  return rows.map(([name, value]) => `  ${name.padEnd(10)}  ${value}`)
}

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
const BUSIEST_HOURS = 5

function activityLines({ activity }: Insights, columns: number): readonly string[] {
  const { weekdays, hours, perDay, activeDays, longestStreak } = activity
  const busiest = hours
    .map((sessions, hour) => ({ sessions, hour }))
    .filter(({ sessions }) => sessions > 0)
    .toSorted((a, b) => b.sessions - a.sessions || a.hour - b.hour)
    .slice(0, BUSIEST_HOURS)
    .map(({ hour, sessions }) => `${String(hour).padStart(2, "0")}:00 (${sessions})`)
  const spark = sparkline(perDay.slice(-Math.max(1, columns - 12)).map(({ sessions }) => sessions))
  return [
    ...barLines(
      weekdays.map((sessions, index) => ({ name: WEEKDAYS[index] ?? "", value: sessions, text: String(sessions) })),
    ),
    `  by hour   ${sparkline(hours)}  0–23 h`,
    `  by day    ${spark}`,
    `  busiest   ${busiest.join(", ")}`,
    `  ${counted(activeDays, "active day")}, at most ${longestStreak} in a row`,
  ]
}

const NOTABLE_TITLES: Readonly<Record<NotableSession["kind"], string>> = {
  longest: "longest",
  "most-messages": "most messages",
  "most-tokens": "most tokens",
  "most-tool-calls": "most tool calls",
}

function notableLine({ kind, id, title, value }: NotableSession): string {
  const shown = kind === "longest" ? compactDuration(value) : compactCount(value)
  return `  ${NOTABLE_TITLES[kind].padEnd(16)}${shown.padEnd(8)}${id}${title === null ? "" : `  ${oneLine(title)}`}`
}

const BAR_WIDTH = 15

/** One row for each entry: its name, a bar relative to the largest value, and a text. */
function barLines(
  entries: readonly { readonly name: string; readonly value: number; readonly text: string }[],
): readonly string[] {
  const largest = Math.max(1, ...entries.map(({ value }) => value))
  const width = Math.min(24, Math.max(0, ...entries.map(({ name }) => name.length)))
  return entries.map(({ name, value, text }) => {
    const filled = value === 0 ? 0 : Math.max(1, Math.round((value / largest) * BAR_WIDTH))
    return `  ${fitColumn(name, width)}  ${"█".repeat(filled)}${"░".repeat(BAR_WIDTH - filled)}  ${text}`
  })
}

const LEVELS = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]

/** One character for each value, relative to the largest. A dot stands for zero. */
function sparkline(values: readonly number[]): string {
  const largest = Math.max(1, ...values)
  return values
    .map((value) =>
      value === 0
        ? "·"
        : (LEVELS[Math.min(LEVELS.length - 1, Math.ceil((value / largest) * LEVELS.length) - 1)] ?? " "),
    )
    .join("")
}

function cut(line: string, columns: number): string {
  return textColumns(line) <= columns ? line : `${takeColumns(line, Math.max(0, columns - 1))}…`
}

function dollars(usd: number): string {
  return `$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`
}
