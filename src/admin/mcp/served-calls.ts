import { passDoor } from "../../agent/dispatch/door.ts"
import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import { prepareCall } from "../../agent/dispatch/prepare.ts"
import { createShellMemory } from "../../agent/dispatch/shell-memory.ts"
import { Interactions } from "../../agent/interactions.ts"
import { createPermissions } from "../../agent/permissions.ts"
import type { Permissions } from "../../agent/permissions.ts"
import { createAuditFile } from "../../app/permissions/audit-log.ts"
import { loadPermissionPolicy } from "../../app/permissions/load-permission-policy.ts"
import { toolLimits } from "../../app/session/session-workspace.ts"
import { Channel } from "../../base/channel.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { createLocalWorkspace } from "../../exec/local/local-workspace.ts"
import type { ServedTool } from "../../mcp/server/conversation-tools.ts"
import type { RunServedCall, ServedResult } from "../../mcp/server/served-call.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { ToolOutcome } from "../../protocol/tool.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { relayToHost } from "./relay-to-host.ts"
import { createServedRedactor } from "./served-redactor.ts"

/** The path of another program's calls to the tools: each one is judged by the rules of the home, and audited. */
export interface ServedCalls {
  readonly run: RunServedCall
  readonly close: () => Promise<void>
}

/** The platform of these calls in the audit and for `approvals.platforms`. */
const PLATFORM = "mcp"

/** What needs approval is asked through the host, and denied where the host cannot ask its user. */
export async function openServedCalls(
  loaded: LoadedHome,
  { tools, cwd }: { readonly tools: readonly ServedTool[]; readonly cwd: string },
): Promise<Result<ServedCalls, AdminFailure>> {
  const { config, home, clock, log } = loaded
  const rules = await loadPermissionPolicy({ config, home, workspaceRoot: cwd, platform: PLATFORM })
  if (!rules.ok) return fail({ kind: "failed", message: rules.error })
  const redactor = createServedRedactor(loaded)
  const audit = createAuditFile({ home, config, redactor, clock, log })
  const taskId = `${PLATFORM}_${randomHex(4)}`
  const audited = { sessionId: () => taskId, taskId, platform: PLATFORM, userId: undefined }
  const workspace = createLocalWorkspace({ cwd, userHome: home.userHome, environment: {} })
  const permissions = (attended: boolean): Permissions =>
    createPermissions({
      profile: rules.value.profile,
      policy: rules.value.policy,
      origin: { attended: () => attended },
      headless: config.get("approvals.headless_mode") === "approve" ? "approve" : "deny",
      askTimeoutMs: approvalTimeoutMs(config),
    })
  const session: DispatchSession = {
    tools: new Map(tools.map(({ tool }) => [tool.name, entryOf(tool)])),
    workspace,
    clock,
    log,
    redact: (text, how) => redactor.redact(text, how),
    permissions: permissions(false),
    shell: createShellMemory(),
    policyDirectories: {
      workspaceRoot: cwd,
      userHome: home.userHome,
      hermesHome: home.path,
      hermesRoot: home.root,
    },
    resultBudget: { defaultChars: Infinity, turnChars: Infinity, previewChars: 0, overrides: {} },
    audit: {
      record: (entry) => {
        audit.record(entry, audited)
      },
    },
    context: (callId, signal, progress) => ({
      workspace,
      signal,
      taskId,
      sessionId: toSessionId(taskId),
      callId,
      clock,
      redact: (text, how) => redactor.redact(text, how),
      ports: {},
      progress,
      limits: toolLimits(config),
    }),
  }
  const attended = { ...session, permissions: permissions(true) }
  return ok({
    run: async ({ tool, args, signal, onProgress, ask }) => {
      const id = `${taskId}_${randomHex(4)}`
      const call = { id, type: "function" as const, function: { name: tool, arguments: JSON.stringify(args) } }
      const judging = ask === undefined ? session : attended
      const interactions = new Interactions(clock)
      const events = new Channel<AgentEventBody>()
      const relaying = relayToHost(events, {
        interactions,
        redact: (text) => redactor.redact(text),
        ...(onProgress === undefined ? {} : { onProgress }),
        ...(ask === undefined ? {} : { ask }),
      })
      const settled = await passDoor(await prepareCall(call, judging), judging, {
        runId: id,
        signal,
        interactions,
        events,
        heartbeat: onProgress !== undefined,
      })
      events.close()
      await relaying
      return { text: redactor.redact(settled.result.whole), outcome: outcomeOf(settled.outcome.how) }
    },
    close: async () => {
      audit.flush()
      await workspace.close()
    },
  })
}

/** How long the host's user may take to answer; 0 waits forever. */
export function approvalTimeoutMs(config: LoadedHome["config"]): number {
  return config.get("approvals.timeout") * 1000
}

function outcomeOf(how: ToolOutcome): ServedResult["outcome"] {
  if (how === "ok") return "ok"
  return how === "blocked" || how === "denied" ? "refused" : "error"
}

function entryOf({ name, toolset, description, parameters, marks, runnable }: ServedTool["tool"]): ToolEntry {
  return {
    name,
    toolset,
    description,
    parameters,
    ...marks,
    source: { kind: "builtin" },
    load: () => Promise.resolve(runnable),
  }
}
