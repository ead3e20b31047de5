import type { JsonSchema } from "../protocol/tool.ts"

/** Tools that Hermes adds for the resources and prompts of a server. */
export interface UtilityTool {
  readonly name: UtilityName
  readonly needs: "resources" | "prompts"
  /** The server receives text of the model, and only the server knows what it does with it. */
  readonly sendsText: boolean
  readonly description: string
  readonly parameters: JsonSchema
}

export type UtilityName = "list_resources" | "read_resource" | "list_prompts" | "get_prompt"

const NO_PARAMETERS: JsonSchema = { type: "object", properties: {} }

export const UTILITY_TOOLS: readonly UtilityTool[] = [
  {
    name: "list_resources",
    needs: "resources",
    sendsText: false,
    description: "List the resources (files, records) of this server with their addresses.",
    parameters: NO_PARAMETERS,
  },
  {
    name: "read_resource",
    needs: "resources",
    sendsText: true,
    description: "Read a resource of this server by its address.",
    parameters: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
  },
  {
    name: "list_prompts",
    needs: "prompts",
    sendsText: false,
    description: "List the prompt templates of this server.",
    parameters: NO_PARAMETERS,
  },
  {
    name: "get_prompt",
    needs: "prompts",
    sendsText: true,
    description: "Fill in a prompt template of this server and return its text.",
    parameters: {
      type: "object",
      properties: { name: { type: "string" }, arguments: { type: "object", properties: {} } },
      required: ["name"],
    },
  },
]
