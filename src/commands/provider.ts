import { reply, type SlashCommand } from "./slash-command.ts"

/** `/provider`: the providers that can be used now. */
export const providerCommand: SlashCommand = {
  name: "provider",
  category: "model",
  help: "list the providers that have a key or a login",
  run: async (_argument, { app, session }) => {
    const [{ loadHome }, { usableProviders }] = await Promise.all([
      import("../admin/loaded-home.ts"),
      import("../admin/models/model-providers.ts"),
    ])
    const providers = usableProviders(await loadHome(app))
    const current = session.facts.provider
    const rows = providers.map(({ id, name, keySource }) => {
      const mark = id === current ? "*" : " "
      return `${mark} ${id.padEnd(18)} ${name}${keySource === undefined ? "" : ` (key from ${keySource})`}`
    })
    return reply(
      [
        ...(rows.length === 0 ? ["No provider has a key or a login."] : rows),
        ...(providers.some(({ id }) => id === current) ? [] : [`* ${current}`]),
        "/model switches, and connects further providers.",
      ].join("\n"),
    )
  },
}
