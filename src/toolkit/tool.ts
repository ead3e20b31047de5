import type { z } from "zod"

import type { Clock } from "../base/clock.ts"
import type { Result } from "../base/result.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { SubagentEvent } from "../protocol/events.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { Part, Provenance } from "../protocol/message.ts"
import type { Access, JsonSchema, Parallel, Subject, ToolLabel } from "../protocol/tool.ts"
import type { AskPort } from "./ports/ask.ts"
import type { CallToolPort, ScriptMarks } from "./ports/call-tool.ts"
import type { CheckpointPort } from "./ports/checkpoints.ts"
import type { DiagnosticsPort } from "./ports/diagnostics.ts"
import type { FileTracker } from "./ports/files.ts"
import type { DeferredToolsPort } from "./ports/deferred-tools.ts"
import type { LearningsPort } from "./ports/learnings.ts"
import type { MemoryPort } from "./ports/memory.ts"
import type { ProcessesPort } from "./ports/processes.ts"
import type { SessionsPort } from "./ports/sessions.ts"
import type { SkillsPort } from "./ports/skills.ts"
import type { SpawnAgentPort } from "./ports/spawn-agent.ts"
import type { SudoPort } from "./ports/sudo.ts"
import type { TodoPort } from "./ports/todo.ts"
import type { ToolSourcesPort } from "./ports/tool-sources.ts"

/**
 * A tool as its author writes it, in one file. Dispatch, policy, plan mode, parallelism and documentation read what they need
 * from here, so no other file lists or compares tool names.
 */
export interface ToolDeclaration<Schema extends z.ZodType> extends ToolMarks {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly input: Schema
  readonly access: Access | ((args: z.output<Schema>) => Access)
  readonly subject: (args: z.output<Schema>) => Subject | readonly Subject[]
  /** What the user sees while it runs, for example the path or the command. */
  readonly preview: (args: z.output<Schema>) => string
  /** Why the user must approve such a call in every permission profile except full-auto; undefined when the profile decides. */
  readonly confirm?: (args: z.output<Schema>) => string | undefined
  /** One line that replaces an old result in a compression, from the arguments as the model wrote them and the stored result. */
  readonly digest?: (call: DigestedCall) => string
  run(args: z.output<Schema>, context: ToolContext): Promise<ToolResult>
}

/** An old call and its result, for a compression. */
export interface DigestedCall {
  readonly tool: string
  readonly args: Readonly<Record<string, unknown>>
  /** The text of the result message. */
  readonly result: string
}

/** Plain data about a tool. For built-in tools the generated manifest holds it, so that it is known before their code is loaded. */
export interface ToolMarks {
  /** How calls are shown to the user. Default: the tool's name. */
  readonly label?: ToolLabel
  /** Default `never`. */
  readonly parallel?: Parallel
  readonly maxResultChars?: number | "unlimited"
  /** Repeating an equal call with an equal result means no progress. */
  readonly idempotent?: boolean
  /** A reply that only calls housekeeping tools may carry the final answer as its text. */
  readonly housekeeping?: boolean
  /** Where its results come from. */
  readonly provenance?: Provenance
  /** What the agent itself relies on the tool for. */
  readonly role?: ToolRole
  /** Tools of one family do the same kind of work, so one may succeed where another failed. Default: the tool's own name. */
  readonly family?: string
  /** The path subjects of a successful call are files, never directories. */
  readonly subjectsAreFiles?: boolean
  /** Counts its own repeated calls in the file tracker; a call of any other tool resets that count. */
  readonly countsRepeats?: boolean
  /** A newer result of an equal call makes the older one obsolete. */
  readonly newestResultOnly?: boolean
  /** When the first request is too long, tools without a rank are deferred first, then those with the highest rank. */
  readonly declarationRank?: number
  /** Works only on files of this machine; left out of sessions whose workspace is a container or another machine. */
  readonly localOnly?: boolean
  /** Never declared itself: the model finds it through the bridges, whose description names this source instead of the tool. */
  readonly deferredSource?: string
  /** Declared in the lean style too. */
  readonly lean?: boolean
  /** Scripts may call it (`execute_code`). */
  readonly inScripts?: boolean
  readonly scripts?: ScriptMarks
  /** False where sub-agents must not have it. */
  readonly inChildren?: boolean
  /** The tool of Claude Code that does the same, for hooks that were written for it; `arguments`: our names → theirs. */
  readonly claudeCode?: { readonly name: string; readonly arguments?: Readonly<Record<string, string>> }
  /** Finds, describes or calls deferred tools. Offered with every list of tools. */
  readonly bridge?: "search" | "describe" | "call"
}

export type ToolRole =
  | "memory"
  | "learnings"
  | "task-list"
  | "session-search"
  | "shell"
  | "shell-input"
  | "file-reader"
  | "file-search"
  | "script"
  | "question"
  | "skills"
  | "delegation"

/** What a tool receives with each call. Tools never import the agent or a surface: what they need from those is a port. */
export interface ToolContext {
  readonly workspace: Workspace
  readonly signal: AbortSignal
  readonly taskId: string
  readonly sessionId: SessionId
  readonly callId: string
  readonly clock: Clock
  readonly redact: (text: string, options?: { readonly codeFile?: boolean }) => string
  readonly ports: ToolPorts
  /** Shows live output to the user; it never reaches the model. */
  progress(text: string): void
  /** Shows what a sub-agent does. */
  readonly emit?: (event: SubagentEvent) => void
  readonly limits: ToolLimits
}

/** What the session can do for tools. Where a port is absent, the tools that need it return an error. */
export interface ToolPorts {
  readonly memory?: MemoryPort
  readonly sessions?: SessionsPort
  /** Opened on first use. */
  readonly learnings?: () => Promise<LearningsPort>
  readonly todo?: TodoPort
  /** Opened on first use. */
  readonly skills?: () => Promise<SkillsPort>
  /** Only for the tools with the roles `script` and `skills`. */
  readonly callTool?: CallToolPort
  readonly spawnAgent?: SpawnAgentPort
  readonly ask?: AskPort
  /** Opened on first use. */
  readonly checkpoints?: () => Promise<CheckpointPort>
  readonly deferredTools?: DeferredToolsPort
  /** Where further tools may still come from. */
  readonly toolSources?: ToolSourcesPort
  /** Opened on first use. */
  readonly processes?: () => Promise<ProcessesPort>
  readonly sudo?: SudoPort
  /** Hooks may replace the output of a command before it is shortened. */
  readonly transformOutput?: (command: EndedCommand) => Promise<string | undefined>
  /** What the task has read and written. Without it the file tools work, but do not warn about stale or repeated reads. */
  readonly files?: FileTracker
  /** Absent in remote workspaces and where language servers are disabled. */
  readonly diagnostics?: DiagnosticsPort
}

/** A command that has ended. */
export interface EndedCommand {
  readonly command: string
  readonly output: string
  readonly exitCode: number
  readonly cwd: string
}

/** Settings that bound what tools return. */
export interface ToolLimits {
  readonly readMaxChars: number
  readonly maxLines: number
  readonly maxLineLength: number
  readonly outputMaxChars: number
  readonly commandTimeoutSeconds: number
  /** The longest foreground timeout of a command; default 600. */
  readonly foregroundMaxSeconds?: number
  /** How many choices a question to the user may offer; default 4. */
  readonly clarifyMaxChoices?: number
  /** `code_execution` of the settings; the defaults where absent. */
  readonly scripts?: ScriptSettings
}

/** How scripts that call tools run, and what they may return. */
export interface ScriptSettings {
  readonly mode: "project" | "strict"
  readonly location: "host" | "backend"
  readonly timeoutSeconds: number
  readonly maxToolCalls: number
  readonly maxStdoutBytes: number
  readonly maxStderrBytes: number
  readonly memoryMb: number
}

/** What a tool returns. `content` goes to the model as JSON; `{ error: … }` marks a failure. */
export interface ToolResult {
  readonly content: Readonly<Record<string, unknown>> | MultimodalContent
  /** One line for the user. */
  readonly summary: string
  readonly exitCode?: number
  /** Why it failed, in one word that the user knows, for example `full`. */
  readonly failureWord?: string
  /** The last lines of a failed command, for the user. */
  readonly outputTail?: string
  readonly diff?: string
  readonly filesChanged?: readonly string[]
  /** Where this result comes from, when that differs from the other results of the tool. */
  readonly provenance?: Provenance
}

export interface MultimodalContent {
  readonly _multimodal: true
  readonly content: readonly Part[]
  readonly text_summary: string
}

export function isMultimodal(content: ToolResult["content"]): content is MultimodalContent {
  return "_multimodal" in content && content["_multimodal"] === true
}

/** A loaded tool with its argument types erased, as dispatch uses it. */
export interface RunnableTool {
  /** Coerces and validates the arguments; the error is a sentence the model can act on. */
  parse(args: Readonly<Record<string, unknown>>): Result<ParsedCall>
  /** Absent where the default digest is enough. */
  readonly digest?: (call: DigestedCall) => string
}

/** One valid call, ready for the policy decision and to run. */
export interface ParsedCall {
  readonly args: Readonly<Record<string, unknown>>
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  readonly preview: string
  /** See `confirm` of the declaration. */
  readonly confirm?: string
  run(context: ToolContext): Promise<ToolResult>
}

/** A tool in the registry: everything except its code, which `load` imports. */
export interface ToolEntry extends ToolMarks {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly parameters: JsonSchema
  readonly source: ToolSource
  load(): Promise<RunnableTool>
}

export type ToolSource =
  | { readonly kind: "builtin" }
  | { readonly kind: "plugin"; readonly plugin: string }
  | { readonly kind: "mcp"; readonly server: string }
