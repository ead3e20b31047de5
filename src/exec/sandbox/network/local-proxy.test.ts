import { once } from "node:events"
import { connect } from "node:net"

import { expect, test } from "vitest"

import { createNetworkAccess } from "./network-access.ts"

/** What the proxy answers before it closes the connection. */
async function answerTo(port: number, ...messages: readonly (string | readonly number[])[]): Promise<Buffer> {
  const socket = connect({ port, host: "127.0.0.1" })
  const received: Buffer[] = []
  socket.on("data", (chunk: Buffer) => {
    received.push(chunk)
    const next = messages[received.length]
    if (next !== undefined) socket.write(typeof next === "string" ? next : Buffer.from(next))
  })
  const [first = ""] = messages
  socket.write(typeof first === "string" ? first : Buffer.from(first))
  await once(socket, "close")
  return Buffer.concat(received)
}

test("a client without the password gets nowhere, by HTTP or SOCKS", async () => {
  const access = createNetworkAccess({ hosts: ["127.0.0.1"], path: "", signal: new AbortController().signal })
  const { port, password } = await access.openLocal()
  const field = (text: string): readonly number[] => [text.length, ...Buffer.from(text)]
  expect(await access.openLocal()).toEqual({ port, password })
  const request = (header: string) => `CONNECT 127.0.0.1:1 HTTP/1.1\r\n${header}\r\n`
  const basic = (text: string) => `Proxy-Authorization: Basic ${Buffer.from(text).toString("base64")}\r\n`
  for (const header of [
    "",
    basic("user:wrong"),
    basic(`user:x${password}`),
    basic(password),
    "Proxy-Authorization: x\r\n",
  ])
    expect((await answerTo(port, request(header))).toString()).toMatch(/^HTTP\/1\.1 407 /u)
  // Nothing listens on the port, but the proxy has tried: it closes without an answer.
  expect((await answerTo(port, request(basic(`user:${password}`)))).toString()).toBe("")
  expect([...(await answerTo(port, [5, 1, 0]))]).toEqual([5, 0xff])
  expect([...(await answerTo(port, [5, 1, 2], [1, ...field("user"), ...field("wrong")]))]).toEqual([5, 2, 1, 2])
  const right = [1, ...field("user"), ...field(password)]
  const [, , , accepted] = await answerTo(port, [5, 1, 2], right, [5, 9, 0, 1, 127, 0, 0, 1, 0, 1])
  expect(accepted).toBe(0)
  access.close()
})
