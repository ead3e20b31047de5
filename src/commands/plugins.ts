import { reply, type SlashCommand } from "./slash-command.ts"

/** `/plugins`: the installed plugins. */
export const pluginsCommand: SlashCommand = {
  name: "plugins",
  category: "tools",
  help: "list the installed plugins",
  run: async (_argument, { app, session }) => {
    const { listPlugins } = await import("../admin/plugins/list-plugins.ts")
    const { plugins, problems } = await listPlugins(app, { version: app.version, cwd: session.facts.cwd })
    const width = Math.max(0, ...plugins.map(({ name }) => name.length))
    const rows = plugins.map(({ name, state }) => `${name.padEnd(width)}  ${state.kind}`)
    return reply(
      [
        ...(rows.length === 0 ? ["There are no plugins."] : rows),
        ...problems,
        "`hermes plugins` installs, enables and removes them.",
      ].join("\n"),
    )
  },
}
