import type { Invocation } from "../../command.ts"
import { knownServer, saveServer, wantedFrom } from "./save-server.ts"

/** `hermes mcp install NAME`: adds a known server under its own name. */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals } = invocation
  const [name = ""] = positionals
  return await saveServer(wantedFrom(knownServer(name), { name, flags }), invocation)
}
