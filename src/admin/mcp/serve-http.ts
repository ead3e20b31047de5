import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { openHttpEndpoint } from "../../mcp/server/http/http-endpoint.ts"
import { LOOPBACK_HOSTS } from "../../mcp/server/http/request-guard.ts"
import type { AdminFailure } from "../failure.ts"
import { failed } from "../failure.ts"
import type { LoadedHome } from "../loaded-home.ts"
import { openServedHome } from "./served-home.ts"
import type { ServeOptions } from "./served-home.ts"

export interface ServeHttpOptions extends ServeOptions {
  readonly host: string
  readonly port: number
  readonly allowedHosts: readonly string[]
  /** Called when clients can connect. */
  readonly onListening: (listening: { readonly url: string; readonly isLocal: boolean }) => void
}

const KEY_VARIABLE = "API_SERVER_KEY"
/** Of a key that other machines can try. */
const MIN_KEY_CHARS = 32

/** Serves a home over HTTP, until the signal aborts. */
export async function serveMcpOverHttp(
  loaded: LoadedHome,
  options: ServeHttpOptions,
): Promise<Result<undefined, AdminFailure>> {
  const { host, port, allowedHosts, signal } = options
  const isLocal = LOOPBACK_HOSTS.has(host)
  const apiKey = readKey(loaded, { isLocal })
  if (!apiKey.ok) return apiKey
  const served = await openServedHome(loaded, options)
  if (!served.ok) return served
  try {
    const endpoint = await openHttpEndpoint({
      host,
      port,
      apiKey: apiKey.value,
      allowedHosts,
      clock: loaded.clock,
      createServer: served.value.createServer,
      onError: (message) => loaded.log.warning(`MCP server: ${message}`),
    })
    if (!endpoint.ok) return failed(endpoint.error)
    options.onListening({ url: endpoint.value.url, isLocal })
    if (!signal.aborted)
      await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }))
    await endpoint.value.close()
    return ok(undefined)
  } finally {
    await served.value.close()
  }
}

function readKey(
  { environment }: LoadedHome,
  { isLocal }: { readonly isLocal: boolean },
): Result<string, AdminFailure> {
  const key = environment.get(KEY_VARIABLE)?.trim() ?? ""
  const command = `hermes config set ${KEY_VARIABLE} "$(openssl rand -hex 32)"`
  if (key === "")
    return fail({
      kind: "invalid",
      message: `No API key is set, and clients cannot connect over HTTP without one. Create it with \`${command}\`, then start the server again.`,
    })
  if (!/^[\x21-\x7e]+$/u.test(key))
    return fail({
      kind: "invalid",
      message: `${KEY_VARIABLE} contains characters that cannot be sent in a header. Create another one with \`${command}\`.`,
    })
  if (!isLocal && key.length < MIN_KEY_CHARS)
    return fail({
      kind: "invalid",
      message: `${KEY_VARIABLE} has fewer than ${MIN_KEY_CHARS} characters, too few for a server that other machines can reach. Create another one with \`${command}\`.`,
    })
  return ok(key)
}
