import { editDistance } from "../../base/nearest-name.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { ShownCall } from "../../protocol/events.ts"
import type { ToolCall } from "../../protocol/message.ts"
import { bridgedCall } from "../../toolkit/deferred-tools.ts"
import { readArguments } from "../../toolkit/read-arguments.ts"
import type { ReadArguments } from "../../toolkit/read-arguments.ts"
import { repairToolName } from "../../toolkit/tool-name-repair.ts"
import type { ParsedCall, ToolEntry } from "../../toolkit/tool.ts"
import { redactArguments } from "../redact-arguments.ts"
import type { DispatchSession } from "./dispatch-session.ts"

/** A call on its way through the door: validated, or refused with an error the model can act on. */
export type PreparedCall = ReadyCall | RefusedCall

export interface ReadyCall extends PreparedBase {
  readonly kind: "ready"
  readonly entry: ToolEntry
  readonly parsed: ParsedCall
}

interface RefusedCall extends PreparedBase {
  readonly kind: "refused"
  readonly why: "unknown-tool" | "broken-arguments" | "invalid-arguments" | "not-loaded" | "skipped"
  readonly entry?: ToolEntry
  readonly error: string
}

interface PreparedBase {
  readonly call: ToolCall
  readonly shown: ShownCall
  /** As the model wrote them; empty when they are not a JSON object. */
  readonly args: Readonly<Record<string, unknown>>
}

/** A confused model may send pages of text as a name. */
const MAX_NAME_CHARS = 100

type PrepareOptions = Pick<DispatchSession, "tools" | "redact">

/** The first two steps of the door: repair the name and the arguments, then validate them against the tool's schema. */
export async function prepareCall(call: ToolCall, options: PrepareOptions): Promise<PreparedCall> {
  const { name, entry, read } = unwrap(findCall(call.function, options.tools), options.tools)
  const args = read.kind === "object" ? read.args : {}
  const shown: ShownCall = {
    id: call.id,
    name: entry?.name ?? ellipsize(name, MAX_NAME_CHARS),
    args: redactArguments(args, options.redact),
  }
  if (entry === undefined) {
    const error = unknownTool(name, options.tools)
    return { kind: "refused", why: "unknown-tool", call, shown, args, error }
  }
  if (read.kind !== "object") {
    const error = `the arguments of ${entry.name} are not a JSON object; send them again as valid JSON`
    return { kind: "refused", why: "broken-arguments", call, shown, args, entry, error }
  }
  return await validate({ call, shown, args }, entry)
}

/** A call with other arguments, validated again. For hooks that rewrite a call. */
export async function withArguments(
  { call, shown, entry }: ReadyCall,
  args: ReadyCall["args"],
  { redact }: PrepareOptions,
): Promise<PreparedCall> {
  return await validate({ call, shown: { ...shown, args: redactArguments(args, redact) }, args }, entry)
}

async function validate(base: PreparedBase, entry: ToolEntry): Promise<PreparedCall> {
  try {
    const parsed = (await entry.load()).parse(base.args)
    return parsed.ok
      ? { kind: "ready", ...base, entry, parsed: parsed.value }
      : { kind: "refused", why: "invalid-arguments", ...base, entry, error: parsed.error }
  } catch (error) {
    const reason = `${entry.name} could not be loaded: ${errorMessage(error)}`
    return { kind: "refused", why: "not-loaded", ...base, entry, error: reason }
  }
}

/** A call from a reply that also names a tool that does not exist: the model planned the reply with wrong assumptions. */
export function skippedCall({ call, shown, args }: PreparedCall, error = OTHER_IS_UNKNOWN): RefusedCall {
  return { kind: "refused", why: "skipped", call, shown, args, error }
}

const OTHER_IS_UNKNOWN =
  "Skipped: another call of the same reply named a tool that does not exist. Send this call again if you still need it."

interface FoundCall {
  readonly name: string
  readonly entry: ToolEntry | undefined
  readonly read: ReadArguments
}

function findCall(written: ToolCall["function"], tools: ReadonlyMap<string, ToolEntry>): FoundCall {
  return { name: written.name, entry: findTool(written.name, tools), read: readArguments(written.arguments) }
}

/** Replaces a call of the bridge tool with the call inside it, unless that names no tool or the bridge itself. */
function unwrap(found: FoundCall, tools: ReadonlyMap<string, ToolEntry>): FoundCall {
  if (found.entry?.bridge !== "call" || found.read.kind !== "object") return found
  const inside = bridgedCall(found.read.args)
  if (inside === undefined) return found
  const call = findCall(inside, tools)
  return call.entry === found.entry ? found : call
}

function findTool(name: string, tools: ReadonlyMap<string, ToolEntry>): ToolEntry | undefined {
  const exact = tools.get(name)
  if (exact !== undefined) return exact
  const repaired = repairToolName(name, tools.keys(), (known) => tools.get(known)?.deferredSource === undefined)
  return repaired === undefined ? undefined : tools.get(repaired)
}

function unknownTool(name: string, tools: ReadonlyMap<string, ToolEntry>): string {
  const names = [...tools.keys()].toSorted()
  const close = closeMatches(name, names)
  const hint = close.length > 0 ? `Close matches: ${close.join(", ")}` : `Available tools: ${names.join(", ")}`
  return `Unknown tool: ${ellipsize(name, MAX_NAME_CHARS)}. ${hint}`
}

const MAX_CLOSE_MATCHES = 5

/** Names that share a word with the given one or are spelt similarly, nearest first. */
function closeMatches(name: string, names: readonly string[]): readonly string[] {
  if (name.length > MAX_NAME_CHARS) return []
  const given = wordsOf(name)
  return names
    .map((candidate) => ({ candidate, distance: editDistance(name.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, distance }) => distance <= 3 || wordsOf(candidate).some((word) => given.includes(word)))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, MAX_CLOSE_MATCHES)
    .map(({ candidate }) => candidate)
}

function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_")
    .toLowerCase()
    .split(/[^a-z0-9]+/u)
    .filter((word) => word.length > 2)
}
