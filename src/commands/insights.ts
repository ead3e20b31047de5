import { reply, type SlashCommand } from "./slash-command.ts"

const DEFAULT_DAYS = 30
const COLUMNS = 80

/** `/insights`: how the agent was used. */
export const insightsCommand: SlashCommand = {
  name: "insights",
  category: "information",
  help: "show how you use the agent and what it costs",
  argument: "[DAYS]",
  run: async (argument, { app }) => {
    const text = argument.trim()
    if (text !== "" && !/^[1-9]\d{0,3}$/u.test(text)) return reply("Usage: /insights, or /insights DAYS.")
    const days = text === "" ? DEFAULT_DAYS : Number(text)
    const [{ collectInsights }, { insightsText }] = await Promise.all([
      import("../admin/insights/insights.ts"),
      import("./insights-text.ts"),
    ])
    const insights = await collectInsights(await app.store(), {
      days,
      source: undefined,
      timeZone: app.config.get("timezone"),
      now: app.clock.now() / 1000,
    })
    return reply(
      insights === undefined
        ? `There are no sessions in the last ${days} days.`
        : insightsText(insights, { columns: COLUMNS }),
    )
  },
}
