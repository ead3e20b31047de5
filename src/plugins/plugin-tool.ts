import { z } from "zod"

import { isRecord } from "../base/json.ts"
import { fail, ok } from "../base/result.ts"
import type { Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import type { Access, JsonSchema, Subject } from "../protocol/tool.ts"
import { coerceArguments } from "../toolkit/argument-coercion.ts"
import { sanitiseParameters } from "../toolkit/schema-sanitiser.ts"
import type { ParsedCall, ToolContext, ToolEntry, ToolResult } from "../toolkit/tool.ts"
import type { PluginTool } from "./contract.ts"

type Arguments = Readonly<Record<string, unknown>>

const ACCESSES: readonly string[] = ["read", "write", "exec", "network", "message", "agent"] satisfies readonly Access[]
const PROVENANCES: readonly (PluginTool["provenance"] & string)[] = ["web", "mcp", "file", "command"]
const MAX_PREVIEW_CHARS = 200
const MAX_SUMMARY_CHARS = 200

/** Turns what a plugin registered into a tool of the registry. Throws when the schema cannot be used. */
export function pluginToolEntry(
  tool: PluginTool,
  { plugin, toolset }: { readonly plugin: string; readonly toolset: string },
): ToolEntry {
  const parameters = sanitiseParameters(tool.input)
  const schema = z.fromJSONSchema({ ...tool.input })
  return {
    name: tool.name,
    toolset,
    description: tool.description,
    parameters,
    source: { kind: "plugin", plugin },
    provenance: PROVENANCES.find((known) => known === tool.provenance) ?? "mcp",
    ...(tool.parallel === undefined ? {} : { parallel: tool.parallel }),
    ...(tool.maxResultChars === undefined ? {} : { maxResultChars: tool.maxResultChars }),
    ...(tool.idempotent === undefined ? {} : { idempotent: tool.idempotent }),
    load: () => Promise.resolve({ parse: (args) => parseCall(tool, { args, parameters, schema }) }),
  }
}

/** A built-in tool that runs a plugin's code. What the policy sees of a call stays that of the built-in tool. */
export function overriddenEntry(builtin: ToolEntry, tool: PluginTool, plugin: string): ToolEntry {
  return {
    ...builtin,
    source: { kind: "plugin", plugin },
    load: async () => {
      const original = await builtin.load()
      return {
        ...original,
        parse: (args) => {
          const parsed = original.parse(args)
          return parsed.ok ? ok({ ...parsed.value, run: (context) => run(tool, parsed.value.args, context) }) : parsed
        },
      }
    },
  }
}

function parseCall(
  tool: PluginTool,
  given: { readonly args: Arguments; readonly parameters: JsonSchema; readonly schema: z.ZodType },
): Result<ParsedCall> {
  const args = coerceArguments(given.args, given.parameters)
  const valid = given.schema.safeParse(args)
  if (!valid.success) {
    const [issue] = valid.error.issues
    const where = issue?.path.map((step) => String(step)).join(".") ?? ""
    return fail(
      ellipsize(
        `${tool.name} was not run: ${where === "" ? "" : `\`${where}\`: `}${issue?.message ?? "invalid arguments"}.`,
        600,
      ),
    )
  }
  return ok({
    args,
    access: accessOf(tool, args),
    subjects: subjectsOf(tool, args),
    preview: ellipsize(attempt(() => tool.preview?.(args)) ?? JSON.stringify(args), MAX_PREVIEW_CHARS),
    run: (context) => run(tool, args, context),
  })
}

/** A declaration that fails or names nothing known counts as unknown, so that the call needs approval. */
function accessOf({ access }: PluginTool, args: Arguments): ParsedCall["access"] {
  const declared: unknown = attempt(() => (typeof access === "function" ? access(args) : access))
  return isAccess(declared) ? declared : "unknown"
}

function isAccess(value: unknown): value is Access {
  return typeof value === "string" && ACCESSES.includes(value)
}

function subjectsOf(tool: PluginTool, args: Arguments): readonly Subject[] {
  const given = attempt(() => tool.subject?.(args))
  const list: readonly unknown[] = given === undefined ? [] : Array.isArray(given) ? given : [given]
  const subjects = list
    .filter((subject) => SubjectShape.safeParse(subject).success)
    .map((subject) => SubjectShape.parse(subject))
  return subjects.length === 0 ? [{ kind: "name", name: tool.name }] : subjects
}

const SubjectShape = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("path"), path: z.string() }),
  z.object({ kind: z.literal("command"), command: z.string() }),
  z.object({ kind: z.literal("url"), url: z.string() }),
  z.object({ kind: z.literal("query"), query: z.string() }),
  z.object({ kind: z.literal("target"), target: z.string() }),
  z.object({ kind: z.literal("name"), name: z.string() }),
])

function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    // The defaults are stricter than what a plugin declares.
    return undefined
  }
}

async function run(tool: PluginTool, args: Arguments, context: ToolContext): Promise<ToolResult> {
  const { signal, sessionId, taskId, workspace } = context
  const answer: unknown = await tool.run(structuredClone(args), {
    signal,
    sessionId,
    taskId,
    cwd: workspace.cwd(),
    progress: (text) => {
      context.progress(context.redact(text))
    },
  })
  const content = isRecord(answer) ? plainCopy(answer) : { result: typeof answer === "string" ? answer : null }
  const shown = typeof content["error"] === "string" ? content["error"] : `answered by ${tool.name}`
  return { content: redacted(content, context), summary: ellipsize(shown, MAX_SUMMARY_CHARS) }
}

/** Only data: a getter or a proxy could answer differently later. */
function plainCopy(answer: Arguments): Arguments {
  const copy: unknown = JSON.parse(JSON.stringify(answer))
  return isRecord(copy) ? copy : {}
}

function redacted(content: Arguments, { redact }: ToolContext): Arguments {
  const copy: unknown = JSON.parse(
    JSON.stringify(content, (_key, value: unknown) => (typeof value === "string" ? redact(value) : value)),
  )
  return isRecord(copy) ? copy : {}
}
