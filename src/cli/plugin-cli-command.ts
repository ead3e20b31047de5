import { loadHome } from "../admin/loaded-home.ts"
import { startApp } from "../app/start.ts"
import { errorMessage } from "../base/system-error.ts"
import type { Invocation } from "./command.ts"
import { homeContext } from "./home-context.ts"
import { VERSION } from "./version.ts"

const FAILED = 1

/** Runs `hermes <name>` of a plugin. Undefined when no enabled plugin has such a command; then no plugin is loaded in vain. */
export async function runPluginCliCommand(
  [name = "", ...args]: readonly string[],
  invocation: Pick<Invocation, "home" | "environment" | "terminal">,
): Promise<number | undefined> {
  const { home, environment, terminal } = invocation
  if (!/^[a-z]/u.test(name)) return undefined
  const { config } = await loadHome(homeContext(invocation))
  if (config.get("plugins.enabled").length === 0) return undefined
  const { app } = await startApp({ home, environment, version: VERSION })
  try {
    const command = app.pluginCliCommands().find((candidate) => candidate.name === name)
    if (command === undefined) return undefined
    const code = await command.run(args, {
      line: (text) => terminal.line(text),
      errorLine: (text) => terminal.errLine(text),
    })
    return typeof code === "number" ? code : 0
  } catch (error) {
    terminal.errLine(`hermes ${name} failed: ${errorMessage(error)}`)
    return FAILED
  } finally {
    await app.close()
  }
}
