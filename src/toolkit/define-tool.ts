import { z } from "zod"

import { assertNever } from "../base/assert-never.ts"
import { isRecord } from "../base/json.ts"
import { lazy } from "../base/lazy.ts"
import { fail, ok, type Result } from "../base/result.ts"
import { ellipsize } from "../base/text.ts"
import type { JsonSchema } from "../protocol/tool.ts"
import { coerceArguments } from "./argument-coercion.ts"
import { sanitiseParameters } from "./schema-sanitiser.ts"
import { isToolName } from "./tool-name.ts"
import type { ParsedCall, RunnableTool, ToolDeclaration, ToolMarks } from "./tool.ts"

/** A tool with its argument types erased. */
export interface DefinedTool {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly marks: ToolMarks
  /** The JSON schema for the model, derived from the declaration's `input` on first use. */
  readonly parameters: JsonSchema
  readonly runnable: RunnableTool
}

/** Turns a declaration into a value that dispatch can use. Throws when the tool name is invalid. */
export function defineTool<Schema extends z.ZodType>(declaration: ToolDeclaration<Schema>): DefinedTool {
  if (!isToolName(declaration.name)) {
    throw new Error(`"${declaration.name}" cannot be a tool name: use 1 to 64 letters, digits and underscores`)
  }
  const parameters = lazy(() => parametersOf(declaration.input))
  return {
    name: declaration.name,
    toolset: declaration.toolset,
    description: declaration.description,
    marks: marksOf(declaration),
    get parameters() {
      return parameters()
    },
    runnable: {
      parse: (args) => parseCall(declaration, parameters(), args),
      ...(declaration.digest !== undefined && { digest: declaration.digest }),
    },
  }
}

function parametersOf(input: z.ZodType): JsonSchema {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, {
    io: "input",
    // z.int() states the bounds of safe integers, which would only lengthen every request.
    override: ({ jsonSchema }) => {
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return sanitiseParameters(schema)
}

/** Only the marks that are set, so that the manifest stays small. */
function marksOf(declaration: ToolMarks): ToolMarks {
  const { parallel, maxResultChars, idempotent, housekeeping, provenance, role, family } = declaration
  const {
    label,
    subjectsAreFiles,
    countsRepeats,
    newestResultOnly,
    declarationRank,
    localOnly,
    lean,
    bridge,
    inScripts,
    scripts,
    inChildren,
    claudeCode,
  } = declaration
  return {
    ...(label !== undefined && { label }),
    ...(parallel !== undefined && { parallel }),
    ...(maxResultChars !== undefined && { maxResultChars }),
    ...(idempotent !== undefined && { idempotent }),
    ...(housekeeping !== undefined && { housekeeping }),
    ...(provenance !== undefined && { provenance }),
    ...(role !== undefined && { role }),
    ...(family !== undefined && { family }),
    ...(subjectsAreFiles !== undefined && { subjectsAreFiles }),
    ...(countsRepeats !== undefined && { countsRepeats }),
    ...(newestResultOnly !== undefined && { newestResultOnly }),
    ...(declarationRank !== undefined && { declarationRank }),
    ...(localOnly !== undefined && { localOnly }),
    ...(inScripts !== undefined && { inScripts }),
    ...(scripts !== undefined && { scripts }),
    ...(inChildren !== undefined && { inChildren }),
    ...(claudeCode !== undefined && { claudeCode }),
    ...(lean !== undefined && { lean }),
    ...(bridge !== undefined && { bridge }),
  }
}

function parseCall<Schema extends z.ZodType>(
  declaration: ToolDeclaration<Schema>,
  parameters: JsonSchema,
  args: Readonly<Record<string, unknown>>,
): Result<ParsedCall> {
  const coerced = withoutMeaninglessNulls(coerceArguments(args, parameters), parameters)
  const parsed = declaration.input.safeParse(coerced)
  if (!parsed.success) return fail(explainIssues(declaration.name, parsed.error.issues, coerced))
  const valid = parsed.data
  const subjects = declaration.subject(valid)
  const confirm = declaration.confirm?.(valid)
  return ok({
    args: isRecord(valid) ? valid : coerced,
    access: typeof declaration.access === "function" ? declaration.access(valid) : declaration.access,
    subjects: "kind" in subjects ? [subjects] : subjects,
    preview: declaration.preview(valid),
    ...(confirm === undefined ? {} : { confirm }),
    run: (context) => declaration.run(valid, context),
  })
}

/** Some models set every optional parameter they do not use to null, which means the same as leaving it out. */
function withoutMeaninglessNulls(
  args: Readonly<Record<string, unknown>>,
  parameters: JsonSchema,
): Readonly<Record<string, unknown>> {
  const { properties, required } = parameters
  if (!isRecord(properties)) return args
  const needed = Array.isArray(required) ? required : []
  return Object.fromEntries(
    Object.entries(args).filter(([name, value]) => {
      const schema = Object.hasOwn(properties, name) ? properties[name] : undefined
      const meaningless = isRecord(schema) && schema["type"] !== undefined && schema["nullable"] !== true
      return value !== null || needed.includes(name) || !meaningless
    }),
  )
}

const MAX_EXPLANATION = 600

function explainIssues(
  tool: string,
  issues: readonly z.core.$ZodIssue[],
  args: Readonly<Record<string, unknown>>,
): string {
  const reasons = issues.map((issue) => {
    const where = issue.path.map((step) => String(step)).join(".")
    return where === "" ? explainIssue(issue, args) : `\`${where}\` ${explainIssue(issue, args)}`
  })
  return ellipsize(`${tool} was not run: ${reasons.join("; ")}.`, MAX_EXPLANATION)
}

function explainIssue(issue: z.core.$ZodIssue, args: unknown): string {
  switch (issue.code) {
    case "invalid_type": {
      const given = valueAt(args, issue.path)
      if (given === undefined) return "is required"
      const wanted = `must be ${withArticle(issue.expected)}`
      return issue.expected === "int" ? wanted : `${wanted}, not ${nameOfType(given)}`
    }
    case "too_small":
      if (issue.minimum === 1 && unitOf(issue.origin) !== "") return "must not be empty"
      return `must be ${issue.inclusive === false ? "more than" : "at least"} ${issue.minimum}${unitOf(issue.origin)}`
    case "too_big":
      return `must be ${issue.inclusive === false ? "less than" : "at most"} ${issue.maximum}${unitOf(issue.origin)}`
    case "invalid_value":
      return `must be ${issue.values.length === 1 ? "" : "one of "}${issue.values.map((value) => String(value)).join(", ")}`
    case "unrecognized_keys":
      return `${issue.path.length === 0 ? "there is no parameter" : "has no field"} ${issue.keys.join(", ")}`
    case "not_multiple_of":
      return `must be a multiple of ${issue.divisor}`
    case "invalid_format":
      return `must be a valid ${issue.format}`
    case "invalid_union":
      return "has none of the accepted forms"
    case "custom":
      return issue.message
    case "invalid_key":
    case "invalid_element":
      return "has an invalid entry"
    default:
      return assertNever(issue)
  }
}

function valueAt(args: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, step) => {
    if (Array.isArray(value)) return value[Number(step)]
    return isRecord(value) ? value[String(step)] : undefined
  }, args)
}

function nameOfType(value: unknown): string {
  if (value === null) return "null"
  return withArticle(Array.isArray(value) ? "array" : typeof value)
}

function withArticle(type: string): string {
  const name = type === "int" ? "whole number" : type === "record" ? "object" : type
  return /^[aeiou]/u.test(name) ? `an ${name}` : `a ${name}`
}

function unitOf(origin: string): string {
  switch (origin) {
    case "string":
      return " characters long"
    case "array":
    case "set":
      return " items long"
    default:
      return ""
  }
}
