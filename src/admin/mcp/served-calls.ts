import { passDoor } from "../../agent/dispatch/door.ts"
import type { DispatchSession } from "../../agent/dispatch/dispatch-session.ts"
import { prepareCall } from "../../agent/dispatch/prepare.ts"
import { createShellMemory } from "../../agent/dispatch/shell-memory.ts"
import { Interactions } from "../../agent/interactions.ts"
import { createPermissions } from "../../agent/permissions.ts"
import { createAuditFile } from "../../app/permissions/audit-log.ts"
import { loadPermissionPolicy } from "../../app/permissions/load-permission-policy.ts"
import { secretValues } from "../../app/secret-values.ts"
import { toolLimits } from "../../app/session/session-workspace.ts"
import { Channel } from "../../base/channel.ts"
import { randomHex } from "../../base/random-and-hash.ts"
import { createRedactor } from "../../base/redact.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { createLocalWorkspace } from "../../exec/local/local-workspace.ts"
import type { HermesServerOptions } from "../../mcp/server/hermes-server.ts"
import type { ServedTool } from "../../mcp/server/conversation-tools.ts"
import type { AgentEventBody } from "../../protocol/events.ts"
import { toSessionId } from "../../protocol/identifiers.ts"
import type { ToolEntry } from "../../toolkit/tool.ts"
import type { AdminFailure } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"

/** The way of another program's calls to the tools: each one is judged by the rules of the home, and audited. */
export interface ServedCalls {
  readonly call: HermesServerOptions["call"]
  readonly close: () => Promise<void>
}

/** The platform of these calls in the audit and for `approvals.platforms`. */
const PLATFORM = "mcp"

/** Nobody can be asked during such a call, so what needs approval is denied. */
export async function openServedCalls(
  loaded: LoadedHome,
  { tools, cwd }: { readonly tools: readonly ServedTool[]; readonly cwd: string },
): Promise<Result<ServedCalls, AdminFailure>> {
  const { config, home, environment, clock, log } = loaded
  const rules = await loadPermissionPolicy({ config, home, workspaceRoot: cwd, platform: PLATFORM })
  if (!rules.ok) return fail({ kind: "failed", message: rules.error })
  // Other programs keep what they receive, so it is redacted even where the user has disabled redaction.
  const redactor = createRedactor({ enabled: true, secrets: secretValues({ environment, config, home }) })
  const audit = createAuditFile({ home, config, redactor, clock, log })
  const taskId = `${PLATFORM}_${randomHex(4)}`
  const audited = { sessionId: () => taskId, taskId, platform: PLATFORM, userId: undefined }
  const workspace = createLocalWorkspace({ cwd, userHome: home.userHome, environment: {} })
  const session: DispatchSession = {
    tools: new Map(tools.map(({ tool }) => [tool.name, entryOf(tool)])),
    workspace,
    clock,
    log,
    redact: (text, how) => redactor.redact(text, how),
    permissions: createPermissions({
      profile: rules.value.profile,
      policy: rules.value.policy,
      origin: { attended: () => false },
      headless: config.get("approvals.headless_mode") === "approve" ? "approve" : "deny",
      askTimeoutMs: 0,
    }),
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
  return ok({
    call: async (name, args, signal) => {
      const id = `${taskId}_${randomHex(4)}`
      const call = { id, type: "function" as const, function: { name, arguments: JSON.stringify(args) } }
      const events = new Channel<AgentEventBody>()
      const settled = await passDoor(await prepareCall(call, session), session, {
        runId: id,
        signal,
        interactions: new Interactions(clock),
        events,
        heartbeat: false,
      })
      events.close()
      return redactor.redact(settled.result.whole)
    },
    close: async () => {
      audit.flush()
      await workspace.close()
    },
  })
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
