import { askModelServer, type ModelServer } from "../../../admin/models/model-server.ts"
import { findModelProvider } from "../../../admin/models/model-providers.ts"
import { customServerKey, withProviderKey } from "../../../admin/models/store-provider-key.ts"
import { CliError } from "../../command.ts"
import { VERSION } from "../../version.ts"
import { askText } from "./ask-option.ts"
import type { ModelPrompt, PreparedProvider } from "./model-prompt.ts"

/** Asks the server at an address for its models, and the user for its key. Undefined when it cannot be used; the reason is printed. */
export async function prepareServer(prompt: ModelPrompt, address: string): Promise<PreparedProvider | undefined> {
  const { home, terminal, signal } = prompt
  const reply = await askModelServer(home, address, { version: VERSION, signal })
  if (reply.kind !== "models") terminal.errLine(reply.message)
  if (reply.kind === "failed") return undefined
  if (reply.kind === "needs-key") return await prepareWithKey(prompt, address)
  const { server } = reply
  if (server.isLocal) return preparedServer(prompt, server)
  // Some servers list their models without a key, and need one for requests.
  const key = await askText(terminal, "Key (not shown, empty for none): ", { secret: true })
  return preparedServer(prompt, server, key === "" ? undefined : key)
}

async function prepareWithKey(prompt: ModelPrompt, address: string): Promise<PreparedProvider | undefined> {
  const { home, terminal, signal } = prompt
  for (;;) {
    const key = await askText(terminal, "Key (not shown): ", { secret: true })
    if (key === "") throw new CliError("Nothing was changed: the server needs a key.", { exitCode: 1 })
    const reply = await askModelServer(home, address, { key, version: VERSION, signal })
    if (reply.kind === "models") return preparedServer(prompt, reply.server, key)
    terminal.errLine(reply.message)
    if (reply.kind === "failed") return undefined
  }
}

function preparedServer(
  { home }: ModelPrompt,
  { baseUrl, models, isLocal }: ModelServer,
  key?: string,
): PreparedProvider | undefined {
  const provider = findModelProvider("custom")
  if (provider === undefined) return undefined
  const prepared = { home, provider, baseUrl, isLocal, models: () => Promise.resolve(models) }
  if (key === undefined) return prepared
  const secret = customServerKey(key)
  return { ...prepared, home: withProviderKey(home, secret), apiKey: `\${${secret.variable}}`, secret }
}
