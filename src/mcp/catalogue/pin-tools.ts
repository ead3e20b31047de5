import { canonicalJson, isRecord } from "../../base/json.ts"
import { sha256Hex } from "../../base/random-and-hash.ts"
import { ellipsize } from "../../base/text.ts"
import { visibleText } from "../../base/visible-text.ts"
import { normaliseInputSchema } from "../input-schema.ts"
import { descriptionThreat } from "./scan-description.ts"
import type { StoredTool, ToolDescription } from "./stored-server.ts"

/** A tool as a server lists it. */
export interface ListedTool {
  readonly name: string
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly inputSchema: unknown
  readonly outputSchema?: unknown
  readonly annotations?: unknown
}

export interface PinnedTools {
  readonly tools: readonly StoredTool[]
  /** Sentences for the log and the status of the server. */
  readonly notices: readonly string[]
}

/** More tools than that are a mistake or an attack. */
const MAX_TOOLS = 2000
const MAX_NAME_CHARS = 200

/**
 * Compares what a server lists with what was accepted before. A tool that is seen for the first time is accepted if the scan finds
 * nothing in its description; one whose description changed waits until the user accepts it.
 */
export function pinTools(known: readonly StoredTool[], listed: readonly ListedTool[]): PinnedTools {
  const notices: string[] = []
  const byName = new Map(known.map((tool) => [tool.name, tool]))
  const current = new Map<string, StoredTool>()
  for (const tool of listed.slice(0, MAX_TOOLS)) {
    if (!isPlainName(tool.name)) {
      const shown = ellipsize(visibleText(tool.name).text, MAX_NAME_CHARS)
      notices.push(`lists a tool with an unusable name, which is left out: ${JSON.stringify(shown)}`)
      continue
    }
    if (current.has(tool.name)) {
      notices.push(`lists ${tool.name} more than once; the first one is used`)
      continue
    }
    const pinned = pinTool(byName.get(tool.name), tool)
    if (pinned.reason !== undefined) notices.push(`${tool.name} is quarantined: ${pinned.reason}`)
    current.set(tool.name, pinned)
  }
  if (listed.length > MAX_TOOLS) notices.push(`lists ${listed.length} tools; only the first ${MAX_TOOLS} are used`)
  const gone = known.filter(({ name }) => !current.has(name)).map((tool): StoredTool => ({ ...tool, gone: true }))
  return { tools: [...current.values(), ...gone], notices }
}

/** Names are shown in tables and questions, so they must not contain anything that acts on a terminal or cannot be seen. */
function isPlainName(name: string): boolean {
  return name !== "" && name.length <= MAX_NAME_CHARS && !/\s/u.test(name) && visibleText(name).text === name
}

/** The tool with its newest description accepted by the user. */
export function acceptTool({ name, accepted, waiting, gone }: StoredTool): StoredTool {
  const chosen = waiting ?? accepted
  return { name, ...(chosen === undefined ? {} : { accepted: chosen }), ...(gone === true ? { gone } : {}) }
}

function pinTool(known: StoredTool | undefined, listed: ListedTool): StoredTool {
  const { name } = listed
  const newest = descriptionOf(listed)
  if (known?.accepted?.hash === newest.hash) return { name, accepted: known.accepted }
  const { title, description, inputSchema, outputSchema, annotations } = listed
  const threat = descriptionThreat({ title, description, parameters: inputSchema, outputSchema, annotations })
  if (threat !== undefined) {
    return {
      name,
      ...acceptedOf(known),
      waiting: newest,
      blocked: true,
      reason: `it looks like an attack on the model: ${threat}`,
    }
  }
  if (known?.accepted === undefined) return { name, accepted: newest }
  return { name, ...acceptedOf(known), waiting: newest, reason: changeOf(known.accepted, newest) }
}

function acceptedOf(known: StoredTool | undefined): Pick<StoredTool, "accepted"> {
  return known?.accepted === undefined ? {} : { accepted: known.accepted }
}

function changeOf(before: ToolDescription, after: ToolDescription): string {
  const changes = [
    ...(before.description === after.description ? [] : ["its description"]),
    ...(canonicalJson(before.parameters) === canonicalJson(after.parameters) ? [] : ["its parameters"]),
  ]
  return `the server changed ${changes.length === 0 ? "its annotations" : changes.join(" and ")} since it was accepted`
}

function descriptionOf({ title, description, inputSchema, outputSchema, annotations }: ListedTool): ToolDescription {
  return {
    hash: sha256Hex(canonicalJson({ title, description, inputSchema, outputSchema, annotations })),
    description: (description ?? title ?? "").trim(),
    parameters: normaliseInputSchema(inputSchema),
    readOnly: isRecord(annotations) && annotations["readOnlyHint"] === true,
  }
}
