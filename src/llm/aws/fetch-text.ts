import type { Environment } from "../../config/environment.ts"
import { openHttpConnection } from "../http/http-connection.ts"
import { connectionSettingsFor } from "../http/connection-settings.ts"
import { isLocalAddress } from "../local/local-address.ts"
import type { FetchText } from "./identity.ts"

const TOTAL_MS = 10_000
/** Keys fit into a few kilobytes. */
const MAX_BYTES = 256 * 1024

/** Creates the function for requests of the credential chain. It uses the same proxy as model requests, except for local addresses. */
export function createFetchText(environment: Environment): FetchText {
  return async (address, { method, headers, body = "", signal }) => {
    const url = new URL(address)
    const settings = connectionSettingsFor(url, { environment, local: isLocalAddress(address) })
    if (!settings.ok) throw new Error(settings.error)
    const connection = openHttpConnection(new URL(url.origin), settings.value)
    const path = `${url.pathname}${url.search}`
    const options = {
      headers: { ...headers, "user-agent": "hermes-agent" },
      signal,
      timeouts: { connectMs: TOTAL_MS, idleMs: TOTAL_MS, totalMs: TOTAL_MS },
    }
    try {
      const response =
        method === "POST"
          ? await connection.post(path, body, options)
          : await (method === "PUT" ? connection.put(path, options) : connection.get(path, options))
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of response.body) {
        size += chunk.length
        if (size > MAX_BYTES) throw new Error("the response is too long")
        chunks.push(chunk)
      }
      return { status: response.status, body: Buffer.concat(chunks).toString("utf8") }
    } finally {
      connection.close()
    }
  }
}
