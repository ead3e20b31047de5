import type { z } from "zod"

import type { Clock } from "../base/clock.ts"
import type { Result } from "../base/result.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Part, Provenance } from "../protocol/message.ts"
import type { Access, JsonSchema, Parallel, Subject } from "../protocol/tool.ts"
import type { AskPort } from "./ports/ask.ts"
import type { CheckpointPort } from "./ports/checkpoints.ts"
import type { DiagnosticsPort } from "./ports/diagnostics.ts"
import type { FileTracker } from "./ports/files.ts"
import type { DeferredToolsPort } from "./ports/deferred-tools.ts"
import type { LearningsPort } from "./ports/learnings.ts"
import type { MemoryPort } from "./ports/memory.ts"
import type { ProcessesPort } from "./ports/processes.ts"
import type { SessionsPort } from "./ports/sessions.ts"
import type { SudoPort } from "./ports/sudo.ts"
import type { TodoPort } from "./ports/todo.ts"

/**
 * A tool as its author writes it, in one file. What dispatch, policy, plan mode, parallelism and documentation need is declared
 * here and listed nowhere else.
 */
export interface ToolDeclaration<Schema extends z.ZodType> extends ToolMarks {
  readonly name: string
  readonly toolset: string
  readonly description: string
  /** One schema is both the check and the type. */
  readonly input: Schema
  readonly access: Access | ((args: z.output<Schema>) => Access)
  readonly subject: (args: z.output<Schema>) => Subject | readonly Subject[]
  /** What people see while it runs, for example the path or the command. */
  readonly preview: (args: z.output<Schema>) => string
  /** Why a person is asked about such a call in every profile but full-auto; undefined when the profile decides. */
  readonly confirm?: (args: z.output<Schema>) => string | undefined
  /** What a compression leaves of an old result: one line, from the arguments as the model wrote them and the stored result. */
  readonly digest?: (call: DigestedCall) => string
  run(args: z.output<Schema>, context: ToolContext): Promise<ToolResult>
}

/** An old call and its result, as a compression sees them. */
export interface DigestedCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** The text of the result message. */
  readonly result: string
}

/** Plain data about a tool; for built-in tools a manifest written at build time holds it. */
export interface ToolMarks {
  /** Default `never`. */
  readonly parallel?: Parallel
  readonly maxResultChars?: number | "unlimited"
  readonly requiresEnv?: readonly string[]
  readonly emoji?: string
  /** A repeated equal result is no progress. */
  readonly idempotent?: boolean
  /** Text beside it is the answer. */
  readonly housekeeping?: boolean
  /** Callable from scripts of the model. */
  readonly inScripts?: boolean
  /** Kept in sub-agents; default true. */
  readonly inChildren?: boolean
  /** Where its results come from (law 6). */
  readonly provenance?: Provenance
}

/** What a tool is given. It never imports the agent or a surface: what it needs from above is a port in here. */
export interface ToolContext {
  readonly workspace: Workspace
  readonly signal: AbortSignal
  readonly taskId: string
  readonly sessionId: SessionId
  readonly callId: string
  readonly clock: Clock
  readonly redact: (text: string, options?: { readonly codeFile?: boolean }) => string
  readonly ports: ToolPorts
  /** Live output for people; never reaches the model. */
  progress(text: string): void
  readonly limits: ToolLimits
}

/** Abilities of the session. A caller that lacks one leaves it out, and the tool answers an error that says so. */
export interface ToolPorts {
  readonly memory?: MemoryPort
  readonly sessions?: SessionsPort
  /** Opened with the first use. */
  readonly learnings?: () => Promise<LearningsPort>
  readonly todo?: TodoPort
  readonly ask?: AskPort
  /** Opened with the first use. */
  readonly checkpoints?: () => Promise<CheckpointPort>
  readonly deferredTools?: DeferredToolsPort
  /** Opened with the first use. */
  readonly processes?: () => Promise<ProcessesPort>
  readonly sudo?: SudoPort
  /** What the task has read and written; the file tools work without it, but then nothing is compared. */
  readonly files?: FileTracker
  /** Absent where files are elsewhere, or language servers are switched off. */
  readonly diagnostics?: DiagnosticsPort
}

/** Settings that bound what tools return. */
export interface ToolLimits {
  readonly readMaxChars: number
  readonly maxLines: number
  readonly maxLineLength: number
  readonly outputMaxChars: number
  readonly commandTimeoutSeconds: number
  /** Most seconds a command may be waited for; 600 unless told. */
  readonly foregroundMaxSeconds?: number
  /** Most choices a question to the person may offer; 4 unless told. */
  readonly clarifyMaxChoices?: number
}

/** What a tool gives back. `content` goes to the model as JSON; `{ error: … }` marks a failure. */
export interface ToolResult {
  readonly content: Readonly<Record<string, unknown>> | MultimodalContent
  /** One line for people. */
  readonly summary: string
  readonly exitCode?: number
  readonly diff?: string
  readonly filesChanged?: readonly string[]
}

export interface MultimodalContent {
  readonly _multimodal: true
  readonly content: readonly Part[]
  readonly text_summary: string
}

export function isMultimodal(content: ToolResult["content"]): content is MultimodalContent {
  return "_multimodal" in content && content["_multimodal"] === true
}

/** A tool with its types erased: what the door works with once the tool's code is loaded. */
export interface RunnableTool {
  /** The arguments after coercion and validation, or a sentence the model can act on. */
  parse(args: Readonly<Record<string, unknown>>): Result<ParsedCall>
  /** Absent where the general form will do. */
  readonly digest?: (call: DigestedCall) => string
}

/** One valid call, ready to be judged and run. */
export interface ParsedCall {
  readonly args: Readonly<Record<string, unknown>>
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  readonly preview: string
  /** See `confirm` of the declaration. */
  readonly confirm?: string
  run(context: ToolContext): Promise<ToolResult>
}

/** A tool as the registry holds it: everything but the code, and the way to the code. */
export interface ToolEntry extends ToolMarks {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly parameters: JsonSchema
  /** Availability probe; the registry caches its answer. */
  readonly available?: () => boolean | Promise<boolean>
  /** Dynamic part, evaluated when a session takes its list; given the names in that list. Null leaves the tool out. */
  readonly describe?: (
    listed: ReadonlySet<string>,
  ) => { readonly description?: string; readonly parameters?: JsonSchema } | null
  readonly source: ToolSource
  load(): Promise<RunnableTool>
}

export type ToolSource =
  | { readonly kind: "builtin" }
  | { readonly kind: "plugin"; readonly plugin: string }
  | { readonly kind: "mcp"; readonly server: string }
