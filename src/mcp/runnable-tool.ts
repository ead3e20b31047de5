import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import type { Access, JsonSchema } from "../protocol/tool.ts"
import { coerceArguments } from "../toolkit/argument-coercion.ts"
import type { ParsedCall, RunnableTool, ToolContext, ToolResult } from "../toolkit/tool.ts"

/** What a call of an MCP tool consists of. */
export interface ToolBody {
  readonly parameters: JsonSchema
  readonly access: Access | "unknown"
  /** What permission rules match: the server's name for the tool. */
  readonly subject: string
  readonly run: (args: Readonly<Record<string, unknown>>, context: ToolContext) => Promise<ToolResult>
}

export function createRunnable(name: string, { parameters, access, subject, run }: ToolBody): RunnableTool {
  return {
    parse: (given): Result<ParsedCall> => {
      const args = coerceArguments(given, parameters)
      const missing = missingParameters(args, parameters)
      if (missing.length > 0)
        return fail(`${name} was not run: ${missing.map((parameter) => `\`${parameter}\` is required`).join("; ")}.`)
      return ok({
        args,
        access,
        subjects: [{ kind: "name", name: subject }],
        preview: previewOf(args),
        run: (context) => run(args, context),
      })
    },
  }
}

/** The server validates everything else; a missing parameter is the most frequent mistake and needs no round trip. */
function missingParameters(args: Readonly<Record<string, unknown>>, { required }: JsonSchema): readonly string[] {
  if (!Array.isArray(required)) return []
  return required.filter((name) => typeof name === "string" && args[name] === undefined)
}

const MAX_PREVIEW_CHARS = 400

function previewOf(args: Readonly<Record<string, unknown>>): string {
  if (Object.keys(args).length === 0) return ""
  return ellipsize(JSON.stringify(args), MAX_PREVIEW_CHARS)
}
