import { CliError, type Invocation } from "../../command.ts"
import { knownServer, saveServer, variablesOf, wantedFrom } from "./save-server.ts"

/** `hermes mcp add NAME --url URL`, `--command PROGRAM [--args …]` or `--preset KNOWN` */
export async function run(invocation: Invocation): Promise<number> {
  const { flags, positionals } = invocation
  const [name = ""] = positionals
  const preset = flags.text("preset")
  if (preset !== undefined) return await saveServer(wantedFrom(knownServer(preset), { name, flags }), invocation)
  const url = flags.text("url")
  const command = flags.text("command")
  if (url === undefined && command === undefined)
    throw new CliError(
      "A server needs an address or a program: add `--url URL`, `--command PROGRAM` or `--preset NAME`",
      {
        exitCode: 2,
      },
    )
  return await saveServer(
    {
      name,
      ...(url === undefined ? {} : { url }),
      ...(command === undefined ? {} : { command }),
      args: flags.texts("args"),
      env: variablesOf(flags),
      auth: flags.text("auth"),
    },
    invocation,
  )
}
