import { canonicalJson, isRecord, parseJson } from "../../base/json.ts"
import { errorMessage } from "../../base/system-error.ts"
import type { ShownCall } from "../../protocol/events.ts"
import type { ToolCall } from "../../protocol/message.ts"
import { repairArguments } from "../../toolkit/argument-repair.ts"
import { repairToolName } from "../../toolkit/tool-name-repair.ts"
import type { ParsedCall, ToolEntry } from "../../toolkit/tool.ts"

/** A call on its way through the door: ready to be judged, or refused with words the model can act on. */
export type PreparedCall =
  | {
      readonly kind: "ready"
      readonly call: ToolCall
      readonly shown: ShownCall
      readonly entry: ToolEntry
      readonly parsed: ParsedCall
    }
  | { readonly kind: "refused"; readonly call: ToolCall; readonly shown: ShownCall; readonly error: string }

export interface PrepareOptions {
  /** The tools this session may use, by name. */
  readonly tools: ReadonlyMap<string, ToolEntry>
  readonly redact: (text: string) => string
}

/** The first two steps of the door: repair the name and the arguments, then validate them against the tool's schema. */
export async function prepareCall(call: ToolCall, options: PrepareOptions): Promise<PreparedCall> {
  const entry = findTool(call.function.name, options.tools)
  const args = parseArguments(call.function.arguments)
  const shown: ShownCall = {
    id: call.id,
    name: entry?.name ?? call.function.name,
    args: redactArguments(args ?? {}, options.redact),
  }
  if (entry === undefined) {
    return { kind: "refused", call, shown, error: unknownTool(call.function.name, options.tools) }
  }
  if (args === undefined) {
    return {
      kind: "refused",
      call,
      shown,
      error: `the arguments of ${entry.name} are not a JSON object; send them again as valid JSON`,
    }
  }
  try {
    const parsed = (await entry.load()).parse(args)
    return parsed.ok
      ? { kind: "ready", call, shown, entry, parsed: parsed.value }
      : { kind: "refused", call, shown, error: parsed.error }
  } catch (error) {
    return { kind: "refused", call, shown, error: `${entry.name} could not be loaded: ${errorMessage(error)}` }
  }
}

function findTool(name: string, tools: ReadonlyMap<string, ToolEntry>): ToolEntry | undefined {
  const exact = tools.get(name)
  if (exact !== undefined) return exact
  const repaired = repairToolName(name, tools.keys())
  return repaired === undefined ? undefined : tools.get(repaired)
}

function parseArguments(raw: string): Readonly<Record<string, unknown>> | undefined {
  const direct = parseJson(raw)
  if (isRecord(direct)) return direct
  const repaired = parseJson(repairArguments(raw))
  return isRecord(repaired) ? repaired : undefined
}

function unknownTool(name: string, tools: ReadonlyMap<string, ToolEntry>): string {
  return `Unknown tool: ${name}. Available tools: ${[...tools.keys()].toSorted().join(", ")}`
}

function redactArguments(
  args: Readonly<Record<string, unknown>>,
  redact: (text: string) => string,
): Readonly<Record<string, unknown>> {
  const redacted = parseJson(redact(canonicalJson(args)))
  return isRecord(redacted) ? redacted : {}
}
