import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { expect, test } from "vitest"

import { createTestHomeContext } from "../../../test/support/home-context.ts"
import { manualClock } from "../../../test/support/manual-clock.ts"
import { startRefusal } from "./start-refusal.ts"

/** A malware database that answers with these texts in turn, and keeps what it was asked. */
async function startDatabase(
  ...answers: readonly string[]
): Promise<AsyncDisposable & { readonly url: string; readonly asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    let body = ""
    request.on("data", (chunk: Buffer) => (body += chunk.toString()))
    request.on("end", () => {
      const answer = answers[asked.length] ?? "{}"
      asked.push(body)
      response.writeHead(answer === "" ? 503 : 200).end(answer)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port }: AddressInfo = Object(server.address())
  return {
    url: `http://127.0.0.1:${port}/`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const found = (...ids: readonly string[]): string => JSON.stringify({ vulns: ids.map((id) => ({ id })) })

test("a package that the database knows as malware is not started, and the answer counts for a day", async () => {
  await using database = await startDatabase(found("GHSA-1", "MAL-2025-7"), found())
  using context = createTestHomeContext()
  const clock = manualClock()
  const refusal = (): Promise<string | undefined> =>
    startRefusal(
      { kind: "stdio", command: "npx", args: ["-y", "evil-mcp@1.2.3"], env: {} },
      {
        ...context,
        clock,
        signal: new AbortController().signal,
        openFetch: () => ({ fetch: (_url, init) => fetch(database.url, init), close: () => undefined }),
      },
    )
  expect(await refusal()).toBe("the package evil-mcp is known malware (MAL-2025-7)")
  expect(database.asked).toEqual([
    JSON.stringify({ package: { name: "evil-mcp", ecosystem: "npm" }, version: "1.2.3" }),
  ])
  await clock.advance(23 * 3_600_000)
  expect(await refusal()).toContain("known malware")
  expect(database.asked).toHaveLength(1)
  await clock.advance(2 * 3_600_000)
  expect(await refusal()).toBeUndefined()
  expect(database.asked).toHaveLength(2)
})

test.each([
  ["another kind of advisory", found("GHSA-1", "PYSEC-2")],
  ["an answer that is not JSON", "<html>"],
  ["an error", ""],
])("%s refuses nothing", async (_case, answer) => {
  await using database = await startDatabase(answer)
  using context = createTestHomeContext()
  const refused = await startRefusal(
    { kind: "stdio", command: "uvx", args: ["mcp-server-time"], env: {} },
    {
      ...context,
      signal: new AbortController().signal,
      openFetch: () => ({ fetch: (_url, init) => fetch(database.url, init), close: () => undefined }),
    },
  )
  expect(refused).toBeUndefined()
  expect(database.asked).toHaveLength(1)
})

test("a lookup that fails refuses nothing, and a program that is no package runner is not looked up", async () => {
  using context = createTestHomeContext()
  const opened: string[] = []
  const options = {
    ...context,
    signal: new AbortController().signal,
    openFetch: () => {
      opened.push("fetch")
      return { fetch: () => Promise.reject(new Error("no network")), close: () => undefined }
    },
  }
  expect(await startRefusal({ kind: "stdio", command: "npx", args: ["x"], env: {} }, options)).toBeUndefined()
  expect(await startRefusal({ kind: "stdio", command: "node", args: ["x"], env: {} }, options)).toBeUndefined()
  expect(opened).toEqual(["fetch"])
})
