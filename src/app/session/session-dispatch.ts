import { tmpdir } from "node:os"
import { resolve } from "node:path"

import type { Conversation } from "../../agent/conversation.ts"
import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import { createGuardrails } from "../../agent/dispatch/guardrails.ts"
import type { Facets } from "../../agent/facets.ts"
import { platformOf } from "../../agent/origin.ts"
import { createShellMemory } from "../../agent/dispatch/shell-memory.ts"
import { createPermissions } from "../../agent/permissions.ts"
import type { Environment } from "../../config/environment.ts"
import type { Config } from "../../config/load-config.ts"
import type { Programs } from "../../exec/programs/programs.ts"
import type { Workspace } from "../../exec/workspace.ts"
import type { Walls } from "../../policy/commands/command-verdict.ts"
import type { PermissionPolicy } from "../../policy/rules/permission-policy.ts"
import type { SessionId } from "../../protocol/identifiers.ts"
import type { ToolPorts } from "../../toolkit/tool.ts"
import { namedByGit } from "../permissions/named-by-git.ts"
import type { AuditedSession } from "../permissions/audit-log.ts"
import type { Services } from "../services/services.ts"
import type { AuxiliaryModel } from "./auxiliary-model.ts"
import type { OpenSessionOptions } from "./session-options.ts"
import { conversationOrigins } from "./conversation-origins.ts"
import type { SessionTools } from "./session-tools.ts"
import { ownProgram } from "../permissions/program-root.ts"
import { pathDirectories, toolLimits, writableDirectories } from "./session-workspace.ts"

export interface DispatchSource {
  readonly taskId: SessionId
  readonly conversation: Conversation
  readonly tools: Pick<SessionTools, "entries">
  readonly workspace: Workspace
  readonly facets: Facets
  readonly ports: ToolPorts
  readonly auxiliary: AuxiliaryModel
  readonly options: Pick<OpenSessionOptions, "origin" | "sandboxPaths" | "checkpoints" | "child"> & {
    readonly permissionProfile: string
  }
  readonly policy: PermissionPolicy
  /** The only file that plan mode may write. */
  readonly planFile: string | undefined
}

function newRepositories({ startedMs }: Services): NonNullable<DispatchSession["newRepositories"]> {
  return async (directories) => {
    const { isRepositoryNewerThan } = await import("../../exec/project/git-repositories.ts")
    return new Set(directories.filter((directory) => isRepositoryNewerThan(directory, startedMs)))
  }
}

/** What the door needs of this session: tools, limits, permissions, hooks, and the context every call receives. */
export function createDispatchSession(source: DispatchSource, services: Services): DispatchSession {
  const { conversation, workspace, facets, options } = source
  const { clock, config, home, log, redactor, environment, audit } = services
  const workspaceRoot = workspace.cwd()
  const audited: AuditedSession = {
    sessionId: () => conversation.id,
    taskId: source.taskId,
    platform: platformOf(options.origin),
    userId: options.origin.identity?.userId,
  }
  const permissions =
    options.child?.permissions ??
    createPermissions({
      profile: options.permissionProfile,
      origin: options.origin,
      headless: config.get("approvals.headless_mode") === "approve" ? "approve" : "deny",
      askTimeoutMs: config.get("approvals.timeout") * 1000,
      policy: source.policy,
      ...(source.planFile === undefined ? {} : { planFile: source.planFile }),
      saveRule: async (pattern) => {
        const { saveAllowRule } = await import("../permissions/save-rule.ts")
        return await saveAllowRule({ home, environment }, pattern)
      },
      observe: (event) => {
        audit.recordEvent(event, audited)
      },
    })
  return {
    tools: source.tools.entries,
    redact: (text, how) => redactor.redact(text, how),
    workspace,
    clock,
    log,
    resultBudget: {
      defaultChars: config.get("tool_results.default_chars"),
      turnChars: config.get("tool_results.turn_chars"),
      previewChars: config.get("tool_results.preview_chars"),
      overrides: numberEntries(config.get("tool_results.overrides")),
    },
    permissions,
    shell: options.child?.shell ?? createShellMemory(),
    walls: async () => {
      const { workspaceWalls } = await import("../permissions/session-walls.ts")
      const hasCheckpoints = workspace.kind === "local" && (options.checkpoints ?? config.get("checkpoints.enabled"))
      const writable = options.sandboxPaths?.writable ?? []
      return await workspaceWalls(workspace, { config, home, workspaceRoot, writable, hasCheckpoints })
    },
    ...(workspace.kind === "local" ||
    workspace.programs === undefined ||
    config.get("code_execution.location") !== "host"
      ? {}
      : { scriptWalls: scriptWallsHere(workspace.programs, services) }),
    ...(workspace.kind === "local"
      ? { newRepositories: newRepositories(services), isNamedByGit: namedByGit(workspaceRoot, home) }
      : {}),
    startedProcess: async (id) => {
      const process = (await services.processes.open()).peek(id)
      return process === undefined ? undefined : { command: process.command, directory: process.cwd }
    },
    hasSudoPassword: (environment.get("SUDO_PASSWORD") ?? "") !== "",
    audit: {
      record: (entry) => {
        audit.record(entry, audited)
      },
    },
    ...conversationOrigins({ ...source, earlierHistory: options.child?.earlierHistory ?? [] }, permissions),
    auxiliary: source.auxiliary,
    questionTimeoutMs: config.get("clarify.timeout") * 1000,
    maxDelegations: config.get("delegation.max_concurrent_children"),
    guardrails: createGuardrails({ ...guardrailSettings(config), attended: () => options.origin.attended() }),
    hooks: facets.hooks,
    policyDirectories: {
      // In the workspace: on another machine the directories of this one mean nothing.
      workspaceRoot,
      ...(workspace.kind === "local"
        ? {
            writable: [
              ...writableDirectories(workspaceRoot, { config, home }),
              ...(options.sandboxPaths?.writable ?? []),
            ],
            programDirectories: pathDirectories(environment),
            ...ownProgram(),
          }
        : {}),
      userHome: workspace.kind === "local" ? home.userHome : workspace.files.resolve("~"),
      hermesHome: home.path,
      hermesRoot: home.root,
      results: workspace.results.directory,
      ...writeRoot(environment),
    },
    context: (callId, signal, progress) => ({
      workspace,
      signal,
      taskId: source.taskId,
      sessionId: conversation.id,
      callId,
      clock,
      redact: (text, how) => redactor.redact(text, how),
      ports: source.ports,
      progress,
      limits: toolLimits(config),
    }),
  }
}

/** Commands run elsewhere, but scripts on this machine: the walls of the workspace do not confine them. */
function scriptWallsHere(programs: Programs, { config, home }: Services): () => Promise<Walls> {
  return async () => {
    if (!(await programs.isSandboxed())) return { kind: "none" }
    const { sandboxWalls } = await import("../permissions/session-walls.ts")
    return sandboxWalls({ config, home, workspaceRoot: tmpdir(), writable: [], hasCheckpoints: false })
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
