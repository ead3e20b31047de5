import { NOTHING_CHOSEN, reply, type SlashCommand } from "./slash-command.ts"

/** `/config`: the effective settings. */
export const configCommand: SlashCommand = {
  name: "config",
  category: "information",
  help: "show the settings, or change them in a list",
  argument: "[KEY | set KEY VALUE]",
  details: "A changed setting applies from the next start on, unless a slash command changes the same thing at once.",
  run: async (argument, context) => {
    const { app, pick } = context
    if (argument.trim() !== "") {
      const { runConfigLine } = await import("./config-line.ts")
      return reply(await runConfigLine(argument, context))
    }
    if (pick !== undefined) {
      const { settingsList } = await import("./lists/settings-list.ts")
      await pick(settingsList(app))
      return NOTHING_CHOSEN
    }
    const { describeSettings } = await import("../admin/settings/describe-settings.ts")
    const { sections, otherChanges, path } = await describeSettings(app)
    const row = ({ key, value, origin }: (typeof otherChanges)[number]): string =>
      `  ${key} = ${typeof value === "string" ? value : JSON.stringify(value)}${origin === "default" ? "" : ` (${origin})`}`
    return reply(
      [
        path,
        ...sections.flatMap(({ title, settings }) => [title, ...settings.map(row)]),
        ...(otherChanges.length === 0 ? [] : ["Other changes", ...otherChanges.map(row)]),
      ].join("\n"),
    )
  },
}
