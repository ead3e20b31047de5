import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** A request for embeddings, in whichever format it came. */
export interface EmbeddingsRequest {
  readonly path: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: Record<string, unknown>
  readonly texts: readonly string[]
}

export interface EmbeddingsServer extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly EmbeddingsRequest[]
  /** From now on every request fails with this status. */
  failWith(status: number): void
}

/** A server that answers `/embeddings`, `:batchEmbedContents` and `/api/embed` as the vendors document them. */
export async function startEmbeddingsServer(vectorOf: (text: string) => readonly number[]): Promise<EmbeddingsServer> {
  const requests: EmbeddingsRequest[] = []
  let failure: number | undefined
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
    incoming.on("end", () => {
      const path = incoming.url ?? ""
      const body = Object(JSON.parse(Buffer.concat(chunks).toString("utf8"))) as Record<string, unknown>
      const texts = textsOf(path, body)
      requests.push({ path, headers: incoming.headers, body, texts })
      const status = texts.length === 0 ? 404 : (failure ?? 200)
      response.writeHead(status, { "content-type": "application/json" })
      response.end(JSON.stringify(status === 200 ? answerOf(path, texts.map(vectorOf)) : { error: { message: "no" } }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    failWith: (status) => {
      failure = status
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function textsOf(path: string, body: Record<string, unknown>): readonly string[] {
  if (path.endsWith(":batchEmbedContents")) {
    const list = body["requests"] as { readonly content: { readonly parts: readonly { readonly text: string }[] } }[]
    return list.map(({ content }) => content.parts.map(({ text }) => text).join(""))
  }
  return path.endsWith("/embeddings") || path === "/api/embed" ? (body["input"] as string[]) : []
}

function answerOf(path: string, vectors: readonly (readonly number[])[]): object {
  if (path.endsWith(":batchEmbedContents")) return { embeddings: vectors.map((values) => ({ values })) }
  if (path === "/api/embed") return { model: "m", embeddings: vectors, total_duration: 1 }
  const data = vectors.map((embedding, index) => ({ object: "embedding", index, embedding }))
  // Clients must go by the index, not by the order.
  return { object: "list", data: data.toReversed(), model: "m", usage: { prompt_tokens: 1, total_tokens: 1 } }
}
