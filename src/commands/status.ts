import type { ContextFigures } from "../agent/context/engine.ts"
import type { Session } from "../app/session.ts"
import { epochSeconds } from "../base/clock.ts"
import type { Clock } from "../base/clock.ts"
import { compactCount, compactDuration } from "../base/compact-count.ts"
import { promptTokens } from "../protocol/usage.ts"
import type { SessionRow } from "../state/store.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"

/** `/status`: what this conversation is, what it has used and how full its context is. No model is asked. */
export const statusCommand: SlashCommand = {
  name: "status",
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
    ...storedRows(await storedRow(app, session), app.clock),
    ...(context.contextLength > 0 ? [["context", contextText(context)] as const] : []),
    ["permissions", facts.permissionProfile],
    ["tools", String(facts.tools.length)],
  ]
  return { kind: "say", text: rows.map(([name, value]) => `${name.padEnd(12)} ${value}`).join("\n") }
}

/** A session that is not kept has no row, and neither has one in which nothing was said. */
export async function storedRow(app: SlashContext["app"], session: Session): Promise<SessionRow | undefined> {
  return session.facts.unsaved === undefined ? await (await app.store()).session(session.id) : undefined
}

function storedRows(row: SessionRow | undefined, clock: Clock): readonly (readonly [string, string])[] {
  if (row === undefined) return []
  const age = compactDuration(Math.max(0, epochSeconds(clock) - row.startedAt))
  const { usage, apiCallCount } = row
  const calls = apiCallCount === 1 ? "1 model call" : `${apiCallCount} model calls`
  return [
    ["started", `${age} ago, ${row.messageCount} messages`],
    ["tokens", `${compactCount(promptTokens(usage))} read, ${compactCount(usage.output)} written in ${calls}`],
  ]
}

export function contextText({ lastPromptTokens, contextLength, thresholdTokens }: ContextFigures): string {
  const used = lastPromptTokens > 0 ? `${compactCount(lastPromptTokens)} of ` : ""
  const limit = thresholdTokens > 0 ? `, made shorter at ${compactCount(thresholdTokens)}` : ""
  return `${used}${compactCount(contextLength)} tokens${limit}`
}
