import { parseJson } from "../../base/json.ts"
import { TOOL_NAMES } from "../../policy/rules/selectors.ts"
import type { CallToolPort } from "../../toolkit/ports/call-tool.ts"
import type { RpcAnswer, RpcRequest } from "./rpc.ts"

/** Answers the calls of one script. */
export interface ScriptCalls {
  handle(request: RpcRequest): Promise<RpcAnswer>
  /** How many calls reached a tool. */
  readonly made: number
}

export function createScriptCalls(
  port: CallToolPort,
  { maxCalls, onCall }: { readonly maxCalls: number; readonly onCall: (made: number) => void },
): ScriptCalls {
  const names = port.tools.map(({ name }) => name)
  let made = 0
  return {
    handle: async ({ tool, args }) => {
      if (!names.includes(tool)) return { error: unavailable(tool, names) }
      if (made >= maxCalls) return { error: `Tool call limit reached (${maxCalls}). Print what you have and end.` }
      made += 1
      onCall(made)
      const { text, ignored } = await port.call(tool, args)
      return { result: withNote(parsed(text), ignored) }
    },
    get made() {
      return made
    },
  }
}

function unavailable(tool: string, names: readonly string[]): string {
  const available = `Available: ${names.join(", ")}.`
  return TOOL_NAMES.has(tool)
    ? `Tool '${tool}' is not available in execute_code. ${available}`
    : `Unknown tool: ${tool.slice(0, MAX_NAME_CHARS)}. ${available}`
}

const MAX_NAME_CHARS = 100

function parsed(text: string): unknown {
  const value = parseJson(text)
  return value === undefined ? text : value
}

function withNote(result: unknown, ignored: readonly string[]): unknown {
  if (ignored.length === 0 || typeof result !== "object" || result === null) return result
  return { ...result, note: `Ignored, because scripts cannot use it: ${ignored.join(", ")}.` }
}
