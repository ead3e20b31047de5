import { counted } from "../../base/counted.ts"
import { oneLine } from "../../terminal/text-layout.ts"
import type { Row } from "../drawing.ts"
import { joinedRows } from "./joined-rows.ts"
import type { RowOptions } from "./row-options.ts"
import { clipSpans, rowOf, span, wrapSpans } from "./spans.ts"
import { shortModelName, windowSize } from "./status-bar.ts"

/** What the banner tells about a session. Undefined: not known yet, so the line is left out. */
export interface BannerFacts {
  readonly version: string
  readonly model: string
  readonly provider: string
  readonly contextWindow?: number | undefined
  readonly directory: string
  readonly branch?: string | undefined
  /** Where commands run, for example `local` or `docker`. */
  readonly backend: string
  readonly permissionProfile: string
  readonly toolsets?: readonly BannerToolset[] | undefined
  readonly skills?: number | undefined
  readonly mcp?: { readonly connected: number; readonly total: number } | undefined
  /** The profile of the home; shown unless it is `default`. */
  readonly profile: string
  /** The length of the system prompt in tokens. */
  readonly systemPromptTokens?: number | undefined
  readonly updateHint?: string | undefined
}

export interface BannerToolset {
  readonly name: string
  readonly tools: readonly string[]
}

export interface BannerOptions extends RowOptions {
  /** One line. */
  readonly compact?: boolean
}

const LABEL_COLUMNS = 12
/** On narrower screens the values have no labels, and short ones share a row. */
const MIN_TWO_COLUMNS = 50

export function bannerRows(facts: BannerFacts, options: BannerOptions): readonly Row[] {
  const { theme, columns } = options
  if (options.compact === true) return [compactRow(facts, options)]
  const title = clipSpans(
    [
      span(`⚕ ${oneLine(theme.branding.agentName)}`, (text) => theme.paint("banner_title", theme.style("bold", text))),
      span(` ${facts.version}`, (text) => theme.paint("banner_dim", text)),
    ],
    columns,
  )
  return [
    rowOf(title),
    ...(columns < MIN_TWO_COLUMNS
      ? narrowRows(facts, options)
      : linesOf(facts).flatMap(([label, value]) => factRows(label, value, options))),
    ...welcomeRows(options),
    ...(facts.updateHint === undefined
      ? []
      : wrapSpans([span(oneLine(facts.updateHint), (text) => theme.paint("ui_warn", text))], columns).map(rowOf)),
  ]
}

function linesOf(facts: BannerFacts): readonly (readonly [label: string, value: string])[] {
  const { contextWindow, branch, toolsets, skills, mcp, systemPromptTokens } = facts
  const window = contextWindow === undefined || contextWindow <= 0 ? "" : `, ${windowSize(contextWindow)} context`
  return [
    ["model", `${oneLine(facts.model)} (${oneLine(facts.provider)}${window})`],
    ["directory", `${oneLine(facts.directory)}${branch === undefined ? "" : ` (${oneLine(branch)})`}`],
    ["permissions", oneLine(facts.permissionProfile)],
    ...(facts.backend === "local" ? [] : [["terminal", oneLine(facts.backend)] as const]),
    ...(facts.profile === "default" ? [] : [["profile", oneLine(facts.profile)] as const]),
    ...(toolsets === undefined ? [] : [["tools", toolsText(toolsets)] as const]),
    ...(skills === undefined ? [] : [["skills", String(skills)] as const]),
    ...(mcp === undefined || mcp.total === 0
      ? []
      : [["mcp", `${mcp.connected} of ${counted(mcp.total, "server")}`] as const]),
    ...(systemPromptTokens === undefined ? [] : [["prompt", `${windowSize(systemPromptTokens)} tokens`] as const]),
  ]
}

function toolsText(toolsets: readonly BannerToolset[]): string {
  const count = toolsets.reduce((sum, { tools }) => sum + tools.length, 0)
  return `${count}: ${toolsets.map(({ name }) => oneLine(name)).join(", ")}`
}

function factRows(label: string, value: string, { theme, columns }: BannerOptions): readonly Row[] {
  const name = theme.paint("banner_dim", label.padEnd(LABEL_COLUMNS))
  const indent = 2 + LABEL_COLUMNS
  const lines = wrapSpans([span(value, (text) => theme.paint("banner_text", text))], columns - indent).map(rowOf)
  const [first = "", ...rest] = lines
  return [`  ${name}${first}`, ...rest.map((row) => " ".repeat(indent) + row)]
}

/** The model and the directory, then the other facts behind one another. */
function narrowRows(facts: BannerFacts, { theme, columns }: BannerOptions): readonly Row[] {
  const [model, directory, ...others] = linesOf(facts)
  const rest = joinedRows(
    others.map(([label, value]) => `${label} ${value}`),
    columns - 2,
  )
  return [model?.[1] ?? "", directory?.[1] ?? "", ...rest].flatMap((text) =>
    wrapSpans([span(text, (part) => theme.paint("banner_text", part))], columns - 2).map((row) => `  ${rowOf(row)}`),
  )
}

function welcomeRows({ theme, columns }: BannerOptions): readonly Row[] {
  const welcome = oneLine(theme.branding.welcome)
  if (welcome === "") return []
  return ["", ...wrapSpans([span(welcome, (text) => theme.paint("banner_text", text))], columns).map(rowOf)]
}

function compactRow(facts: BannerFacts, { theme, columns }: BannerOptions): Row {
  const { branding } = theme
  const directory = `${oneLine(facts.directory)}${facts.branch === undefined ? "" : ` (${oneLine(facts.branch)})`}`
  const extras = [
    ...(facts.permissionProfile === "default" ? [] : [oneLine(facts.permissionProfile)]),
    ...(facts.profile === "default" ? [] : [`profile ${oneLine(facts.profile)}`]),
  ]
  const rest = [shortModelName(facts.model), ...extras, directory].map((part) => ` · ${part}`).join("")
  return rowOf(
    clipSpans(
      [
        span(`⚕ ${oneLine(branding.agentName)} ${facts.version}`, (text) => theme.paint("banner_title", text)),
        span(rest, (text) => theme.paint("banner_dim", text)),
      ],
      columns,
    ),
  )
}
