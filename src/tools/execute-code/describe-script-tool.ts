import { isRecord } from "../../base/json.ts"
import type { ToolDefinition } from "../../protocol/tool.ts"
import type { ScriptSettings, ToolEntry } from "../../toolkit/tool.ts"
import { signature } from "./clients/script-function.ts"
import type { Language } from "./languages.ts"

/** What a script can do in one session. */
export interface ScriptAbilities {
  readonly tools: readonly ToolEntry[]
  readonly languages: readonly Language[]
  readonly settings: ScriptSettings
  /** Scripts run in the working directory of the session. */
  readonly isInProject: boolean
}

/** Adds what only the session knows: the functions that scripts have there, the languages and the limits. */
export function describeScriptTool(definition: ToolDefinition, abilities: ScriptAbilities): ToolDefinition {
  const { languages, settings } = abilities
  const tools = abilities.tools.filter(({ inScripts }) => inScripts === true)
  const sentences = [
    definition.description,
    'JavaScript: import { … } from "hermes_tools" and await each call.',
    ...(languages.includes("python") ? ["Python: from hermes_tools import …."] : []),
    `Functions: ${tools.map(signature).join("; ")}.`,
    `Arguments in this order or by name; a failed call returns {error}. Also json_parse, shell_quote, retry.`,
    `Limits: ${settings.maxToolCalls} calls, ${settings.timeoutSeconds} s, ${settings.maxStdoutBytes / 1000} KB of output.`,
    ...(abilities.isInProject ? [] : ["It runs in an empty directory; only the functions reach the workspace."]),
  ]
  return {
    ...definition,
    description: sentences.join(" "),
    parameters: withLanguages(definition.parameters, languages),
  }
}

function withLanguages(parameters: ToolDefinition["parameters"], languages: readonly Language[]) {
  const { properties } = parameters
  if (!isRecord(properties) || !isRecord(properties["language"])) return parameters
  return { ...parameters, properties: { ...properties, language: { ...properties["language"], enum: languages } } }
}
