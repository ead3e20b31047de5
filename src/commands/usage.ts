import {
  conversationUsage,
  rateLimitStatus,
  type ConversationCost,
  type ConversationUsage,
  type RateLimitStatus,
} from "../app/services/conversation-usage.ts"
import { compactCount, compactDuration } from "../base/compact-count.ts"
import { promptTokens } from "../protocol/usage.ts"
import { reply, type SlashCommand, type SlashContext, type SlashOutcome } from "./slash-command.ts"
import { contextText } from "./status.ts"

/** `/usage`: tokens by kind, their cost, the size of the context and the provider's rate limits. Makes no model call. */
export const usageCommand: SlashCommand = {
  name: "usage",
  category: "information",
  help: "show tokens, cost, context size and the provider's rate limits",
  run: showUsage,
}

type Row = readonly [name: string, value: string]

async function showUsage(_argument: string, { app, session }: SlashContext): Promise<SlashOutcome> {
  const { facts, context, rateLimits } = session
  const rows: readonly Row[] = [
    ["model", `${facts.model} (${facts.provider})`],
    ...(facts.unsaved === undefined
      ? tokenRows(await conversationUsage(app, session))
      : [["tokens", `not counted, because this conversation is not saved: ${facts.unsaved}`] as const]),
    ...(context.contextLength > 0 ? [["context", contextText(context)] as const] : []),
    ...rateLimitStatus(rateLimits, app.clock.now()).map((limit) => [limitName(limit), limitText(limit)] as const),
  ]
  return reply(rows.map(([name, value]) => `${name.padEnd(12)} ${value}`).join("\n"))
}

function tokenRows({ calls, tokens, cost }: ConversationUsage): readonly Row[] {
  if (calls === 0) return [["tokens", "none yet"]]
  const { input, output, cacheRead, cacheWrite, reasoning } = tokens
  const parts = [
    `${compactCount(input)} uncached`,
    ...(cacheRead > 0 ? [`${compactCount(cacheRead)} read from the cache`] : []),
    ...(cacheWrite > 0 ? [`${compactCount(cacheWrite)} written to the cache`] : []),
  ]
  const reasoningPart = reasoning > 0 ? ` (${compactCount(reasoning)} reasoning)` : ""
  return [
    ["calls", String(calls)],
    ["input", `${compactCount(promptTokens(tokens))} tokens (${parts.join(", ")})`],
    ["output", `${compactCount(output)} tokens${reasoningPart}`],
    ["cost", costText(cost)],
  ]
}

/** `~` marks an estimate; amounts below a cent get four digits. */
function costText({ usd, status }: ConversationCost): string {
  if (status === "included") return "included"
  if (status === "unknown" && usd === 0) return "unknown"
  const amount = `${status === "actual" ? "" : "~"}$${usd.toFixed(usd > 0 && usd < 0.01 ? 4 : 2)}`
  return status === "unknown" ? `${amount}, without calls whose price is unknown` : amount
}

function limitName({ name }: RateLimitStatus): string {
  return name.replace("-1h", "/h")
}

function limitText({ limit, remaining, secondsToReset, nearLimit }: RateLimitStatus): string {
  const left = `${compactCount(remaining)} of ${compactCount(limit)} left`
  if (secondsToReset !== undefined && secondsToReset <= 0) return `${left} at the last request, reset since then`
  const reset = secondsToReset === undefined ? "" : `, resets in ${compactDuration(secondsToReset)}`
  return `${left}${reset}${nearLimit ? " (close to the limit)" : ""}`
}
