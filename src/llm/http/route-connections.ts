import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { isLocalAddress } from "../local/local-address.ts"
import type { ModelRuntime } from "../model.ts"
import { openHttpConnection } from "./http-connection.ts"
import type { HttpConnection, HttpConnectionOptions } from "./http-connection.ts"
import { connectionSettingsFor } from "./connection-settings.ts"
import type { ConnectionSettingsOptions } from "./connection-settings.ts"

/** The HTTP connections of one route: to its own endpoint, and to those its logins were issued for. */
export interface RouteConnections {
  /** Returns the connection to an address that a login names; to the route's own when it names none or an unusable one. */
  to(address: string | undefined): HttpConnection
  /** Closes all open connections; later requests open new ones. */
  close(): void
}

/** Fails with a message when the proxy or the CA bundle for the route's own endpoint is misconfigured. */
export function createRouteConnections(
  { baseUrl, billingMode }: Pick<ModelRuntime, "baseUrl" | "billingMode">,
  options: Pick<ConnectionSettingsOptions, "environment" | "caBundle"> & Pick<HttpConnectionOptions, "idleSockets">,
): Result<RouteConnections> {
  const { environment, caBundle, idleSockets } = options
  const open = (address: string, local: boolean): Result<HttpConnection> => {
    const url = new URL(address)
    const settings = connectionSettingsFor(url, { environment, local, caBundle })
    return settings.ok ? ok(openHttpConnection(url, { ...settings.value, idleSockets })) : settings
  }
  const own = open(baseUrl, billingMode === "local")
  if (!own.ok) return own
  const others = new Map<string, HttpConnection>()
  return ok({
    to: (address) => {
      if (address === undefined || address === baseUrl || !isSafeAddress(address)) return own.value
      const known = others.get(address)
      if (known !== undefined) return known
      const opened = open(address.replace(/\/+$/, ""), isLocalAddress(address))
      if (!opened.ok) return own.value
      others.set(address, opened.value)
      return opened.value
    },
    close: () => {
      for (const connection of [own.value, ...others.values()]) connection.close()
    },
  })
}

/** A login is sent over TLS, or over plain HTTP within this machine and its local network. */
function isSafeAddress(address: string): boolean {
  const protocol = URL.parse(address)?.protocol
  return protocol === "https:" || (protocol === "http:" && isLocalAddress(address))
}
