/** The kind of effect of a tool call; policy, plan mode and parallelism decide by it. */
export type Access = "read" | "write" | "exec" | "network" | "message" | "agent"

/** What permission rules match. */
export type Subject =
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "command"; readonly command: string }
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "query"; readonly query: string }
  | { readonly kind: "target"; readonly target: string }
  | { readonly kind: "name"; readonly name: string }

/** Whether a call may run in parallel with others of the same reply. */
export type Parallel = "never" | "safe" | "by-path"

/** How a call settled. */
export type ToolOutcome = "ok" | "error" | "denied" | "blocked" | "interrupted" | "skipped"

/** How a tool is named to the user, in one line per call. */
export interface ToolLabel {
  readonly emoji: string
  /** At most 9 columns, for example `read`. */
  readonly verb: string
  /** The line of an ended call shows the result instead of what the call was to do. */
  readonly showsResult?: true
}

export type JsonSchema = { readonly [key: string]: unknown }

/** A tool as declared to the model; the same bytes for the life of a session. */
export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly parameters: JsonSchema
}
