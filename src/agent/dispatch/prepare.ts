import { isRecord, parseJson } from "../../base/json.ts"
import { errorMessage } from "../../base/system-error.ts"
import { ellipsize } from "../../base/text.ts"
import type { ShownCall } from "../../protocol/events.ts"
import type { ToolCall } from "../../protocol/message.ts"
import { repairArguments } from "../../toolkit/argument-repair.ts"
import { repairToolName } from "../../toolkit/tool-name-repair.ts"
import type { ParsedCall, ToolEntry } from "../../toolkit/tool.ts"
import { redactArguments } from "../redact-arguments.ts"

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

/** A model in trouble may send pages of text as a name. */
const MAX_NAME_CHARS = 100

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
    name: entry?.name ?? ellipsize(call.function.name, MAX_NAME_CHARS),
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
  return `Unknown tool: ${ellipsize(name, MAX_NAME_CHARS)}. Available tools: ${[...tools.keys()].toSorted().join(", ")}`
}
