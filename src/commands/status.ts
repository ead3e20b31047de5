import type { ContextFigures } from "../agent/context/context-engine.ts"
import { storedSession } from "../app/services/conversation-usage.ts"
import { epochSeconds } from "../base/clock.ts"
import type { Clock } from "../base/clock.ts"
import { compactCount, compactDuration } from "../base/compact-count.ts"
import { promptTokens } from "../protocol/usage.ts"
import type { SessionRow } from "../state/store.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"

/** `/status`: the session, its model, its token usage and the size of its context. Makes no model call. */
export const statusCommand: SlashCommand = {
  name: "status",
  category: "information",
  help: "show model, session, context and permissions",
  run: showStatus,
}

async function showStatus(_argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  const { facts, context } = session
  const rows: readonly (readonly [name: string, value: string])[] = [
    ["session", `${session.id}${facts.unsaved === undefined ? "" : ` (not saved: ${facts.unsaved})`}`],
    ["title", (await session.title()) ?? "-"],
    ["model", `${facts.model} (${facts.provider})`],
    ["profile", app.home.profile],
    ["directory", facts.cwd],
    ...usageRows(await storedSession(app, session), app.clock),
    ...(context.contextLength > 0 ? [["context", contextText(context)] as const] : []),
    ["permissions", facts.permissionProfile],
    ["tools", String(facts.tools.length)],
  ]
  return reply(rows.map(([name, value]) => `${name.padEnd(12)} ${value}`).join("\n"))
}

function usageRows(row: SessionRow | undefined, clock: Clock): readonly (readonly [string, string])[] {
  if (row === undefined) return []
  const age = compactDuration(Math.max(0, epochSeconds(clock) - row.startedAt))
  const { usage, apiCallCount } = row
  const calls = apiCallCount === 1 ? "1 model call" : `${apiCallCount} model calls`
  return [
    ["started", `${age} ago, ${row.messageCount} messages`],
    ["tokens", `${compactCount(promptTokens(usage))} input, ${compactCount(usage.output)} output in ${calls}`],
  ]
}

export function contextText({ lastPromptTokens, contextLength, thresholdTokens }: ContextFigures): string {
  const used = lastPromptTokens > 0 ? `${compactCount(lastPromptTokens)} of ` : ""
  const limit = thresholdTokens > 0 ? `, compressed at ${compactCount(thresholdTokens)}` : ""
  return `${used}${compactCount(contextLength)} tokens${limit}`
}
