import { reply, type SlashCommand } from "./slash-command.ts"

/** `/terminal-setup`: lets Shift+Enter make a new line in the terminals of known editors. */
export const terminalSetupCommand: SlashCommand = {
  name: "terminal-setup",
  category: "display",
  help: "let Shift+Enter make a new line in the terminals of VS Code, Cursor, Windsurf and Zed",
  details:
    "It adds a key binding to the settings of these editors, after asking. Alt+Enter and Ctrl+J make a new line everywhere.",
  run: async (_argument, { app, confirm }) => {
    const { addNewlineKey, findEditorSettings } = await import("../admin/editor-support/newline-key.ts")
    const found = findEditorSettings({ userHome: app.home.userHome, environment: app.environment })
    if (found.length === 0)
      return reply("No settings of a known editor were found. Alt+Enter and Ctrl+J make a new line in every terminal.")
    const missing = found.filter(({ state }) => state === "missing")
    const lines = found
      .filter(({ state }) => state !== "missing")
      .map(({ editor, state, path }) =>
        state === "bound"
          ? `${editor}: Shift+Enter is bound already.`
          : `${editor}: ${path} cannot be changed safely; bind Shift+Enter in the terminal to send Esc and Enter.`,
      )
    if (missing.length === 0) return reply(lines.join("\n"))
    const question = `Add a key binding for Shift+Enter to ${missing.map(({ path }) => path).join(" and ")}?`
    if (confirm === undefined)
      return reply("This changes settings of your editors, so it needs a conversation in which you can be asked.")
    if (!(await confirm(question))) return reply("Nothing was changed.")
    const changed = missing.map((settings) => {
      const done = addNewlineKey(settings)
      return done.ok
        ? `${settings.editor}: Shift+Enter makes a new line now. The former file is ${done.value}.`
        : `${settings.editor}: ${done.error}`
    })
    return reply([...lines, ...changed].join("\n"))
  },
}
