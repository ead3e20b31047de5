import type { Environment } from "../../config/environment.ts"
import { openHttpConnection } from "../http/http.ts"
import { wayTo } from "../http/way.ts"
import { isLocalAddress } from "../local/local-address.ts"
import type { FetchText } from "./identity.ts"

const TOTAL_MS = 10_000
/** Keys fit into a few kilobytes. */
const MAX_BYTES = 256 * 1024

/** The small requests of the credential chain: through the proxy that models are asked through, but never to this machine's own metadata. */
export function createFetchText(environment: Environment): FetchText {
  return async (address, { method, headers, body = "", signal }) => {
    const url = new URL(address)
    const way = wayTo(url, { environment, local: isLocalAddress(address) })
    if (!way.ok) throw new Error(way.error)
    const connection = openHttpConnection(new URL(url.origin), way.value)
    const path = `${url.pathname}${url.search}`
    const how = {
      headers: { ...headers, "user-agent": "hermes-agent" },
      signal,
      timeouts: { connectMs: TOTAL_MS, idleMs: TOTAL_MS, totalMs: TOTAL_MS },
    }
    try {
      const response =
        method === "POST"
          ? await connection.post(path, body, how)
          : await (method === "PUT" ? connection.put(path, how) : connection.get(path, how))
      const chunks: Uint8Array[] = []
      let size = 0
      for await (const chunk of response.body) {
        size += chunk.length
        if (size > MAX_BYTES) throw new Error("the answer is too long")
        chunks.push(chunk)
      }
      return { status: response.status, body: Buffer.concat(chunks).toString("utf8") }
    } finally {
      connection.close()
    }
  }
}
