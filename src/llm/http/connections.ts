import { ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { isLocalAddress } from "../local/local-address.ts"
import type { ModelRuntime } from "../model.ts"
import { openHttpConnection } from "./http.ts"
import type { HttpConnection } from "./http.ts"
import { wayTo } from "./way.ts"
import type { WayOptions } from "./way.ts"

/** The connections of one route: to its own address, and to those its logins were issued for. */
export interface Connections {
  /** To an address that a login names; to the route's own where it names none, or nothing that can be used. */
  to(address: string | undefined): HttpConnection
  /** Everything that is open is closed; what is asked afterwards goes over new connections. */
  close(): void
}

/** Fails with a sentence when the proxy or the authorities for the route's own address are set up wrongly. */
export function createConnections(
  { baseUrl, billingMode }: Pick<ModelRuntime, "baseUrl" | "billingMode">,
  { environment, authorities }: Pick<WayOptions, "environment" | "authorities">,
): Result<Connections> {
  const open = (address: string, local: boolean): Result<HttpConnection> => {
    const url = new URL(address)
    const way = wayTo(url, { environment, local, authorities })
    return way.ok ? ok(openHttpConnection(url, way.value)) : way
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

/** A login travels over TLS, or does not leave this machine and its neighbours. */
function isSafeAddress(address: string): boolean {
  const protocol = URL.parse(address)?.protocol
  return protocol === "https:" || (protocol === "http:" && isLocalAddress(address))
}
