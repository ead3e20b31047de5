import { resolve } from "node:path"

import type { Conversation } from "../agent/conversation.ts"
import { createGuardrails } from "../agent/dispatch/guardrails.ts"
import { createPermissions } from "../agent/permissions.ts"
import type { Environment } from "../config/environment.ts"
import type { Config } from "../config/load.ts"
import type { Workspace } from "../exec/workspace.ts"
import type { SessionId } from "../protocol/identifiers.ts"
import type { ToolDefinition } from "../protocol/tool.ts"
import type { ToolEntry, ToolPorts } from "../toolkit/tool.ts"
import type { OpenSessionOptions, Shared } from "./session-options.ts"
import type { SessionParts } from "./session-parts.ts"
import type { SessionFiles } from "./session-files.ts"
import type { Presence } from "./session-presence.ts"
import type { SessionKnowledge } from "./session-knowledge.ts"
import { sandboxNote } from "./sandbox-note.ts"
import { limitsOf } from "./session-workspace.ts"

export interface DispatchRequest {
  /** The first id of the conversation: what belongs to it keeps this name through compressions. */
  readonly taskId: SessionId
  readonly conversation: Conversation
  readonly tools: readonly ToolDefinition[]
  /** Tools of this session alone, beside those of the registry. */
  readonly more: readonly ToolEntry[]
  readonly workspace: Workspace
  readonly knowledge: SessionKnowledge
  readonly files: SessionFiles
  readonly presence: Presence
  readonly ports: ToolPorts
  readonly options: OpenSessionOptions
}

/** What the door needs of this session: its tools, limits, permissions and the context every call gets. */
export function dispatchFor(request: DispatchRequest, shared: Shared): SessionParts["dispatch"] {
  const { conversation, workspace, knowledge, options } = request
  const { clock, config, home, redactor } = shared
  const walls = sandboxNote(workspace, shared)
  const offered = new Set(request.tools.map(({ name }) => name))
  return {
    tools: new Map([
      ...[...shared.registry.snapshot().tools].filter(([name]) => offered.has(name)),
      ...request.more.map((entry): [string, ToolEntry] => [entry.name, entry]),
    ]),
    redact: (text) => redactor.redact(text),
    workspace,
    clock,
    log: shared.log,
    budget: {
      defaultChars: config.get("tool_results.default_chars"),
      turnChars: config.get("tool_results.turn_chars"),
      previewChars: config.get("tool_results.preview_chars"),
      overrides: numberEntries(config.get("tool_results.overrides")),
    },
    permissions: createPermissions({
      profile: options.permissionProfile,
      attended: options.attended,
      headless: config.get("approvals.headless_mode") === "approve" ? "approve" : "deny",
      askTimeoutMs: config.get("approvals.timeout") * 1000,
    }),
    questionTimeoutMs: config.get("clarify.timeout") * 1000,
    guardrails: createGuardrails({ ...guardrailSettings(config), attended: options.attended }),
    notes: [...knowledge.notes, request.files.note, ...(walls === undefined ? [] : [walls])],
    beforeRun: (call) => {
      request.presence.show()
      return request.files.beforeRun(call)
    },
    places: {
      // Of the place where the files are: on another machine the directory and the home of this one say nothing.
      workspaceRoot: workspace.cwd(),
      userHome: workspace.kind === "local" ? home.userHome : workspace.files.resolve("~"),
      hermesHome: home.path,
      hermesRoot: home.root,
      ...writeRoot(shared.environment),
    },
    context: (callId, signal, progress) => ({
      workspace,
      signal,
      taskId: request.taskId,
      sessionId: conversation.id,
      callId,
      clock,
      redact: (text, how) => redactor.redact(text, how),
      ports: request.ports,
      progress,
      limits: limitsOf(config),
    }),
  }
}

function guardrailSettings(config: Config): Omit<Parameters<typeof createGuardrails>[0], "attended"> {
  const limits = (when: "warn_after" | "hard_stop_after") => ({
    exactFailure: config.get(`tool_loop_guardrails.${when}.exact_failure`),
    sameToolFailure: config.get(`tool_loop_guardrails.${when}.same_tool_failure`),
    idempotentNoProgress: config.get(`tool_loop_guardrails.${when}.idempotent_no_progress`),
  })
  return {
    warningsEnabled: config.get("tool_loop_guardrails.warnings_enabled"),
    hardStopEnabled: config.get("tool_loop_guardrails.hard_stop_enabled"),
    warnAfter: limits("warn_after"),
    hardStopAfter: limits("hard_stop_after"),
  }
}

function writeRoot(environment: Environment): { readonly writeRoot?: string } {
  const root = environment.get("HERMES_WRITE_SAFE_ROOT")?.trim() ?? ""
  return root === "" ? {} : { writeRoot: resolve(root) }
}

function numberEntries(mapping: Readonly<Record<string, unknown>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(mapping).flatMap(([name, value]) => (typeof value === "number" ? [[name, value]] : [])),
  )
}
