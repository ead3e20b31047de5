import { openInBrowser } from "../../../admin/credentials/open-in-browser.ts"
import { logInToMcpServer } from "../../../admin/mcp/log-in.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { openHome } from "./open-home.ts"

/** `hermes mcp login NAME` */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, positionals, signal, environment, flags } = invocation
  const [name = ""] = positionals
  const pastes = flags.has("manual-paste")
  valueOrCliError(
    await logInToMcpServer(await openHome(invocation), name, {
      signal,
      showPage: async (url) => {
        terminal.errLine(`Open this address to log in:\n${url}`)
        if (pastes) return
        if (terminal.stderrIsTty) await openInBrowser(url, environment)
        terminal.errLine("Waiting for the browser ...")
      },
      ...(pastes
        ? { askForRedirect: async () => await terminal.ask("Paste the address that the browser ended at: ") }
        : {}),
    }),
  )
  terminal.line(`Logged in to ${name}.`)
  return 0
}
