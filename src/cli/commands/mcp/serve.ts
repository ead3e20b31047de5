import type { ServeOptions } from "../../../admin/mcp/served-home.ts"
import { CliError } from "../../command.ts"
import type { Invocation } from "../../command.ts"
import { valueOrCliError } from "../../command-result.ts"
import { VERSION } from "../../version.ts"
import { openHome } from "./open-home.ts"

const DEFAULT_HOST = "127.0.0.1"
const DEFAULT_PORT = 8643

/** `hermes mcp serve`. Without `--http` only protocol messages go to standard output. */
export async function run(invocation: Invocation): Promise<number> {
  const { terminal, signal, flags } = invocation
  const options: ServeOptions = {
    version: VERSION,
    cwd: process.cwd(),
    signal,
    ...(flags.has("verbose") ? { onCall: (tool) => terminal.errLine(tool) } : {}),
  }
  if (flags.has("http")) await serveHttp(invocation, options)
  else await serveStandardStreams(invocation, options)
  return 0
}

async function serveStandardStreams(invocation: Invocation, options: ServeOptions): Promise<void> {
  for (const flag of ["host", "port", "allow-host"])
    if (invocation.flags.has(flag)) throw new CliError(`--${flag} needs --http.`, { exitCode: 2 })
  const { serveMcp } = await import("../../../admin/mcp/serve.ts")
  valueOrCliError(await serveMcp(await openHome(invocation), options))
}

async function serveHttp(invocation: Invocation, options: ServeOptions): Promise<void> {
  const { terminal, flags } = invocation
  const { serveMcpOverHttp } = await import("../../../admin/mcp/serve-http.ts")
  const host = flags.text("host") ?? DEFAULT_HOST
  const served = await serveMcpOverHttp(await openHome(invocation), {
    ...options,
    host,
    port: flags.number("port") ?? DEFAULT_PORT,
    allowedHosts: flags.texts("allow-host"),
    onListening: ({ url, isLocal }) => {
      terminal.line(`Serving MCP at ${url}`)
      terminal.errLine("Clients send API_SERVER_KEY as a bearer token. Ctrl+C stops the server.")
      if (!isLocal)
        terminal.errLine(
          "Other machines can connect, and the key and the conversations are not encrypted on the way: put a proxy with TLS in front.",
        )
    },
  })
  valueOrCliError(served)
}
