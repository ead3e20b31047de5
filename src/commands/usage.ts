import type { App } from "../app/app.ts"
import { compactCount, compactDuration } from "../base/compact-count.ts"
import { costLabel } from "../llm/catalog/cost.ts"
import { isNearlyUsedUp } from "../llm/failure/rate-limit-headers.ts"
import type { RateLimitBucket, RateLimits } from "../llm/failure/rate-limit-headers.ts"
import { NO_USAGE, addUsage, promptTokens } from "../protocol/usage.ts"
import type { Usage } from "../protocol/usage.ts"
import type { SessionRow } from "../state/store.ts"
import type { SlashCommand, SlashContext, SlashOutcome } from "./slash-command.ts"
import { contextText, storedRow } from "./status.ts"

/** `/usage`: tokens by kind, what they cost, how full the context is and what the provider still allows. No model is asked. */
export const usageCommand: SlashCommand = {
  name: "usage",
  help: "show tokens, cost, context and the limits of the provider",
  run: showUsage,
}

type Row = readonly [name: string, value: string]

async function showUsage(_argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  const { facts, context, rateLimits } = session
  const rows: readonly Row[] = [
    ["model", `${facts.model} (${facts.provider})`],
    ...(facts.unsaved === undefined
      ? tokenRows(await conversationRows(app, await storedRow(app, session)))
      : [["tokens", `not counted, because this conversation is not saved: ${facts.unsaved}`] as const]),
    ...(context.contextLength > 0 ? [["context", contextText(context)] as const] : []),
    ...limitRows(rateLimits, app.clock.now()),
  ]
  return { kind: "say", text: rows.map(([name, value]) => `${name.padEnd(12)} ${value}`).join("\n") }
}

/** A compression goes on in another session; what the earlier ones have used belongs to the same conversation. */
async function conversationRows(app: App, last: SessionRow | undefined): Promise<readonly SessionRow[]> {
  const store = await app.store()
  const rows = last === undefined ? [] : [last]
  for (let parent = last?.parent ?? null; parent !== null;) {
    const row = await store.session(parent)
    if (row?.endReason !== "compression" || rows.includes(row)) break
    rows.push(row)
    parent = row.parent
  }
  return rows
}

function tokenRows(rows: readonly SessionRow[]): readonly Row[] {
  const calls = rows.reduce((sum, { apiCallCount }) => sum + apiCallCount, 0)
  if (calls === 0) return [["tokens", "none yet"]]
  const usage = rows.reduce<Usage>((sum, row) => addUsage(sum, row.usage), NO_USAGE)
  const { input, output, cacheRead, cacheWrite, reasoning } = usage
  const parts = [
    `${compactCount(input)} new`,
    ...(cacheRead > 0 ? [`${compactCount(cacheRead)} from the cache`] : []),
    ...(cacheWrite > 0 ? [`${compactCount(cacheWrite)} new and kept in the cache`] : []),
  ]
  const thoughts = reasoning > 0 ? `, ${compactCount(reasoning)} of them thoughts` : ""
  return [
    ["calls", String(calls)],
    ["read", `${compactCount(promptTokens(usage))} tokens (${parts.join(", ")})`],
    ["written", `${compactCount(output)} tokens${thoughts}`],
    ["cost", costText(rows)],
  ]
}

/** One call that nobody can price makes the sum a part of the truth, and that is said. */
function costText(rows: readonly SessionRow[]): string {
  const statuses = new Set(rows.map(({ costStatus }) => costStatus))
  const usd = rows.reduce((sum, row) => sum + (row.actualCostUsd ?? row.estimatedCostUsd ?? 0), 0)
  if (statuses.has("unknown")) {
    return usd > 0 ? `${costLabel({ usd, status: "estimated" })}, without calls of unknown price` : "unknown"
  }
  if (statuses.size === 1 && statuses.has("included")) return costLabel({ usd, status: "included" })
  const exact = [...statuses].every((status) => status === "actual" || status === "included")
  return costLabel({ usd, status: exact ? "actual" : "estimated" })
}

function limitRows(limits: RateLimits, now: number): readonly Row[] {
  return Object.entries(limits).map(([name, bucket]) => [name.replace("-1h", "/h"), limitText(bucket, now)])
}

function limitText(bucket: RateLimitBucket, now: number): string {
  const left = `${compactCount(bucket.remaining)} of ${compactCount(bucket.limit)} left at the provider`
  const seconds = Math.ceil(bucket.resetSeconds - (now - bucket.capturedAt) / 1000)
  // What was said about a time that is over says nothing about now.
  if (bucket.resetSeconds > 0 && seconds <= 0) return `${left} at the last answer, all of them again since`
  const reset = seconds > 0 ? `, all of them again in ${compactDuration(seconds)}` : ""
  return `${left}${reset}${isNearlyUsedUp(bucket) ? " (nearly used up)" : ""}`
}
