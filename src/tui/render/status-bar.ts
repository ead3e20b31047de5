import { compactCount, compactDuration } from "../../base/compact-count.ts"
import { cutToColumns, oneLine } from "../../terminal/text-layout.ts"
import { textColumns } from "../../terminal/text-width.ts"
import type { Row } from "../drawing.ts"
import type { ColorRole } from "../theme/theme.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span } from "./spans.ts"
import type { Span } from "./spans.ts"

/** What the status bar shows. Times are in seconds. */
export interface StatusBarState {
  readonly model: string
  /** Undefined where the window of the model is unknown. */
  readonly context: { readonly used: number; readonly window: number } | undefined
  readonly compressions: number
  readonly backgroundTasks: number
  readonly backgroundProcesses: number
  readonly sessionSeconds: number
  readonly turn: { readonly kind: "running" | "idle"; readonly seconds: number } | undefined
  /** Undefined when costs are not shown. */
  readonly costUsd?: number | undefined
  readonly permissionProfile: string
  readonly queued: number
  readonly isDemo: boolean
  readonly directory?: string | undefined
  readonly branch?: string | undefined
}

const FULL_COLUMNS = 76
const MEDIUM_COLUMNS = 52

/** One row over the whole width: all of the state, or what matters most on a narrow screen. */
export function statusBar(state: StatusBarState, { theme, columns }: RowOptions): readonly Row[] {
  const separator = columns >= FULL_COLUMNS ? " │ " : " · "
  const parts = fittingParts(partsFor(state, columns), columns - 2, separator.length)
  const spans = parts.flatMap(({ text, role }, index): readonly Span[] => [
    ...(index === 0 ? [] : [span(separator, (part) => theme.paint("status_bar_dim", part))]),
    span(text, (part) => theme.paint(role, part)),
  ])
  const line = clipSpans([span(" "), ...spans], columns)
  return [theme.paint("status_bar_bg", rowOf(line) + " ".repeat(Math.max(0, columns - line.columns)))]
}

/** The name without the vendor's path and the file extension. */
export function shortModelName(model: string): string {
  const name =
    oneLine(model)
      .split("/")
      .at(-1)
      ?.replace(/\.gguf$/iu, "") ?? ""
  return textColumns(name) <= MAX_MODEL_COLUMNS ? name : `${cutToColumns(name, MAX_MODEL_COLUMNS - 2).slice(0, -1)}...`
}

/** The size of a context window: `128K`, `1M`. */
export function windowSize(tokens: number): string {
  if (tokens < 1000) return String(tokens)
  if (tokens < 999_500) return `${Math.round(tokens / 1000)}K`
  return `${Number((tokens / 1_000_000).toFixed(1))}M`
}

/** The colour for a share of the context in percent. */
export function contextRole(percent: number): ColorRole {
  if (percent >= 95) return "status_bar_critical"
  if (percent > 80) return "status_bar_bad"
  return percent >= 50 ? "status_bar_warn" : "status_bar_good"
}

const MAX_MODEL_COLUMNS = 26
const BAR_CELLS = 10

interface Part {
  readonly text: string
  readonly role: ColorRole
  /** Parts with the lowest number are left out first. */
  readonly rank: number
}

function partsFor(state: StatusBarState, columns: number): readonly Part[] {
  const model: Part = { text: `⚕ ${shortModelName(state.model)}`, role: "status_bar_strong", rank: 100 }
  const duration = text(compactDuration(state.sessionSeconds), 40)
  if (columns < MEDIUM_COLUMNS) return [model, duration, ...badges(state)]
  const { label, role } = percentOf(state)
  if (columns < FULL_COLUMNS) {
    const counters = countersOf(state)
    return [
      model,
      { text: label, role, rank: 80 },
      ...(counters.length === 0 ? [] : [text(counters.join(" "), 50)]),
      duration,
      ...badges(state),
    ]
  }
  return [
    model,
    text(usedOf(state), 70),
    { text: `${barOf(state)} ${label}`, role, rank: 80 },
    ...countersOf(state).map((counter) => text(counter, 50)),
    duration,
    ...turnOf(state).map((time) => text(time, 34)),
    ...(state.costUsd === undefined ? [] : [text(`$${state.costUsd.toFixed(2)}`, 32)]),
    ...badges(state),
    ...directoryOf(state).map((directory) => text(directory, 10)),
  ]
}

function text(shown: string, rank: number): Part {
  return { text: shown, role: "status_bar_text", rank }
}

function percentOf({ context }: StatusBarState): {
  readonly label: string
  readonly role: ColorRole
  readonly fill: number
} {
  if (context === undefined || context.window <= 0) return { label: "--", role: "status_bar_dim", fill: 0 }
  const percent = Math.round((100 * context.used) / context.window)
  return {
    label: `${percent}%`,
    role: contextRole(percent),
    fill: Math.min(BAR_CELLS, Math.round(percent / BAR_CELLS)),
  }
}

function usedOf({ context }: StatusBarState): string {
  if (context === undefined || context.window <= 0) return "ctx --"
  return `${compactCount(context.used)}/${windowSize(context.window)}`
}

function barOf(state: StatusBarState): string {
  const { fill } = percentOf(state)
  return `[${"█".repeat(fill)}${"░".repeat(BAR_CELLS - fill)}]`
}

function countersOf({ compressions, backgroundTasks, backgroundProcesses }: StatusBarState): readonly string[] {
  return [
    ...(compressions > 0 ? [`🗜️ ${compressions}`] : []),
    ...(backgroundTasks > 0 ? [`▶ ${backgroundTasks}`] : []),
    ...(backgroundProcesses > 0 ? [`⚙ ${backgroundProcesses}`] : []),
  ]
}

function turnOf({ turn }: StatusBarState): readonly string[] {
  if (turn === undefined) return []
  return [`${turn.kind === "running" ? "⏱" : "✓"} ${compactDuration(turn.seconds)}`]
}

function badges({ permissionProfile, queued, isDemo }: StatusBarState): readonly Part[] {
  return [
    ...profileBadge(permissionProfile),
    ...(queued > 0 ? [{ text: `${queued} queued`, role: "status_bar_warn" as const, rank: 36 }] : []),
    ...(isDemo ? [{ text: "offline demo", role: "status_bar_warn" as const, rank: 38 }] : []),
  ]
}

function profileBadge(profile: string): readonly Part[] {
  switch (profile) {
    case "default":
      return []
    case "full-auto":
      return [{ text: "⚠ YOLO", role: "status_bar_critical", rank: 95 }]
    case "plan":
      return [{ text: "PLAN", role: "status_bar_warn", rank: 90 }]
    default:
      return [{ text: cutToColumns(profile, 16), role: "status_bar_warn", rank: 85 }]
  }
}

function directoryOf({ directory, branch }: StatusBarState): readonly string[] {
  if (directory === undefined) return []
  return [`${oneLine(directory)}${branch === undefined ? "" : ` (${oneLine(branch)})`}`]
}

/** Leaves out the least important parts until the others fit. */
function fittingParts(parts: readonly Part[], columns: number, separator: number): readonly Part[] {
  let kept = parts
  const width = (): number =>
    kept.reduce((sum, part) => sum + textColumns(part.text), 0) + separator * Math.max(0, kept.length - 1)
  while (kept.length > 1 && width() > columns) {
    const lowest = Math.min(...kept.map(({ rank }) => rank))
    const index = kept.findLastIndex(({ rank }) => rank === lowest)
    kept = kept.toSpliced(index, 1)
  }
  return kept
}
