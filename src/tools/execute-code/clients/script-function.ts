import { isRecord } from "../../../base/json.ts"
import type { ToolEntry } from "../../../toolkit/tool.ts"

export type ScriptTool = Pick<ToolEntry, "name" | "parameters" | "scripts">

/** A tool as a function of a script. */
export interface ScriptFunction {
  readonly name: string
  /** In the order of the schema, which is also that of positional arguments. Required ones come first. */
  readonly parameters: readonly ScriptParameter[]
  /** Other names for it. */
  readonly aliases: readonly string[]
}

export interface ScriptParameter {
  readonly name: string
  readonly isRequired: boolean
}

export function scriptFunction({ name, parameters, scripts = {} }: ScriptTool): ScriptFunction {
  const { properties, required } = parameters
  const needed = Array.isArray(required) ? required : []
  const names = isRecord(properties) ? Object.keys(properties) : []
  return {
    name,
    parameters: names
      .filter((parameter) => scripts.omits?.includes(parameter) !== true)
      .map((parameter) => ({ name: parameter, isRequired: needed.includes(parameter) })),
    aliases: [camelCase(name), scripts.alias].flatMap((alias) =>
      alias === undefined || alias === name ? [] : [alias],
    ),
  }
}

/** `read_file(path, offset?, limit?)`, for the description of the tool. */
export function signature(tool: ScriptTool): string {
  const { name, parameters } = scriptFunction(tool)
  const listed = parameters.map((parameter) => `${parameter.name}${parameter.isRequired ? "" : "?"}`)
  return `${name}(${listed.join(", ")})${tool.scripts?.returns === undefined ? "" : ` → ${tool.scripts.returns}`}`
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z0-9])/gu, (_match, letter: string) => letter.toUpperCase())
}
