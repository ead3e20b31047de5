import { describe, expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import { startSocksServer } from "../support/socks-server.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

/** A host that only a proxy can find. */
function settings(address = "http://models.example.com/v1"): string {
  return `model:\n  base_url: ${address}\n  default: test-model\n  api_key: key-behind-the-proxy\nagent:\n  api_max_retries: 1\n`
}

async function appBehind(env: Readonly<Record<string, string>>, config = settings()) {
  return await assembleApp([callsTool("terminal", { command: "true" }), says("Through.")], {
    files: { "config.yaml": config },
    env,
    clock: { ...systemClock, sleep: () => Promise.resolve() },
  })
}

/** A port where nobody listens. */
async function closedPort(): Promise<string> {
  const server = await startModelServer([])
  const { url } = server
  await server.close()
  return url
}

describe("a proxy of the environment", () => {
  test.each(["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"])(
    "%s carries every request",
    async (variable) => {
      await using proxy = await startForwardProxy()
      await using assembled = await appBehind({ [variable]: `${proxy.url}/` })
      proxy.forwardTo(assembled.model.url)
      const { end } = await runToEnd(await assembled.open(), "Hi.")
      expect([end.result.finalResponse, proxy.asked, assembled.model.requests.length]).toEqual([
        "Through.",
        Array.from({ length: 2 }, () => "http://models.example.com/v1/chat/completions"),
        2,
      ])
      expect(assembled.model.requests[0]?.headers["authorization"]).toBe("Bearer key-behind-the-proxy")
    },
  )

  test("is left out for what NO_PROXY names", async () => {
    await using proxy = await startForwardProxy()
    await using assembled = await appBehind({ HTTPS_PROXY: proxy.url, NO_PROXY: "other.org, .example.com" })
    proxy.forwardTo(assembled.model.url)
    const { end } = await runToEnd(await assembled.open(), "Hi.")
    expect([end.outcome, proxy.asked, assembled.model.requests.length]).toEqual(["error", [], 0])
    expect(end.result.error?.message).toMatch(/models\.example\.com\/v1 could not be reached: the host name/)
  })

  test("is not asked for a server of this machine", async () => {
    await using proxy = await startForwardProxy()
    await using assembled = await assembleApp([says("Direct.")], { env: { HTTPS_PROXY: proxy.url } })
    const { end } = await runToEnd(await assembled.open(), "Hi.")
    expect([end.result.finalResponse, proxy.asked]).toEqual(["Direct.", []])
  })

  test("opens a tunnel for an https address", async () => {
    await using proxy = await startForwardProxy({ refusesWith: 403 })
    await using assembled = await appBehind({ HTTPS_PROXY: proxy.url }, settings("https://models.example.com/v1"))
    await runToEnd(await assembled.open(), "Hi.")
    expect(proxy.asked).toEqual(["models.example.com:443"])
  })
})

describe("a proxy that cannot be used is one sentence, and the session goes on", () => {
  test.each([
    { name: "refuses a request", address: "http://models.example.com/v1", refusesWith: 403, says: /403/ },
    {
      name: "refuses a tunnel",
      address: "https://models.example.com/v1",
      refusesWith: 403,
      says: /the proxy http:\S+ refused the connection \(HTTP 403\); correct or unset HTTPS_PROXY, or name the host in NO_PROXY/,
    },
    {
      name: "wants a login",
      address: "https://models.example.com/v1",
      refusesWith: 407,
      says: /the proxy http:\S+ wants a user name and a password; write them into HTTPS_PROXY as http:\/\/USER:PASSWORD@/,
    },
  ])("that $name", async ({ address, refusesWith, says: sentence }) => {
    await using proxy = await startForwardProxy({ refusesWith })
    await using assembled = await appBehind({ HTTPS_PROXY: proxy.url }, settings(address))
    const session = await assembled.open()
    const first = await runToEnd(session, "Hi.")
    const message = first.end.result.error?.message ?? ""
    expect([first.end.result.error?.code, message.includes("\n"), message]).toEqual([
      "provider_error",
      false,
      expect.stringMatching(sentence) as string,
    ])
    const again = await runToEnd(session, "Still there?")
    expect([again.end.outcome, proxy.asked.length]).toEqual(["error", 2])
    // Whatever a proxy does, the provider's key is not to blame.
    if (address.startsWith("https:")) expect(message).not.toMatch(/key/)
  })

  test("that nobody answers", async () => {
    const url = await closedPort()
    await using assembled = await appBehind({ HTTPS_PROXY: url })
    const { end } = await runToEnd(await assembled.open(), "Hi.")
    expect(end.result.error?.message).toBe(
      `custom at http://models.example.com/v1 could not be reached: the proxy ${url} does not answer; start it, or correct or unset HTTPS_PROXY`,
    )
  })

  test.each([
    { variable: "HTTPS_PROXY", value: "http://proxy:99999" },
    { variable: "ALL_PROXY", value: "gopher://proxy:70" },
    { variable: "http_proxy", value: "not an address" },
    { variable: "HTTP_PROXY", value: "socks9://127.0.0.1:1080" },
  ])("$variable=$value", async ({ variable, value }) => {
    await using assembled = await appBehind({ [variable]: value })
    await expect(assembled.open()).rejects.toThrow(new RegExp(`^${variable} .*(?:correct or unset it)$`))
  })
})

describe("a SOCKS proxy of the environment", () => {
  test.each(["HTTPS_PROXY", "ALL_PROXY", "all_proxy"])(
    "%s carries every request over one connection",
    async (variable) => {
      await using proxy = await startSocksServer({ login: "ann:pass" })
      await using assembled = await appBehind({ [variable]: `socks5h://ann:pass@${proxy.place}/` })
      proxy.forwardTo(assembled.model.url)
      const { end } = await runToEnd(await assembled.open(), "Hi.")
      expect([end.result.finalResponse, assembled.model.requests.length, proxy.asked]).toEqual([
        "Through.",
        2,
        [{ version: 5, host: "models.example.com", port: 80, address: "name", login: "ann:pass" }],
      ])
    },
  )

  test("is left out for what NO_PROXY names, and for this machine", async () => {
    await using proxy = await startSocksServer()
    await using excepted = await appBehind({ ALL_PROXY: `socks5h://${proxy.place}`, NO_PROXY: "example.com" })
    expect((await runToEnd(await excepted.open(), "Hi.")).end.outcome).toBe("error")
    await using near = await assembleApp([says("Direct.")], { env: { ALL_PROXY: `socks5h://${proxy.place}` } })
    expect((await runToEnd(await near.open(), "Hi.")).end.result.finalResponse).toBe("Direct.")
    expect(proxy.asked).toEqual([])
  })

  test.each([
    [{ login: "ann:pass" }, "refused the user name or password in ALL_PROXY"],
    [{ reply: 4 }, "cannot reach models.example.com"],
    [{ reply: 2 }, "refused the connection (not allowed by its rules)"],
  ])("that fails (%j) is one sentence, and the session goes on", async (options, words) => {
    await using proxy = await startSocksServer(options)
    await using assembled = await appBehind({ ALL_PROXY: `socks5h://ann:planted-secret@${proxy.place}` })
    const session = await assembled.open()
    for (const prompt of ["Hi.", "Still there?"]) {
      const { end } = await runToEnd(session, prompt)
      const message = end.result.error?.message ?? ""
      expect(message).toContain(
        `custom at http://models.example.com/v1 could not be reached: the proxy socks5h://${proxy.place} ${words}`,
      )
      expect(message).not.toMatch(/planted-secret|\n/)
    }
  })

  test("that says nothing does not keep an interrupt waiting", async () => {
    await using proxy = await startSocksServer({ behaves: "silent" })
    await using assembled = await appBehind({ ALL_PROXY: `socks5h://${proxy.place}` })
    const session = await assembled.open()
    const stop = new AbortController()
    const ending = (async () => {
      let last: string | undefined
      for await (const event of session.run("Hi.", { signal: stop.signal }))
        last = event.type === "run-end" ? event.outcome : last
      return last
    })()
    await expect.poll(() => proxy.connections()).toBe(1)
    stop.abort()
    expect(await ending).toBe("interrupted")
  })
})
