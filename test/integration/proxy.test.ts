import { describe, expect, test } from "vitest"

import { systemClock } from "../../src/base/clock.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import { startSocksServer } from "../support/socks-server.ts"
import { startModelServer } from "../support/model-server/server.ts"
import { callsTool, says } from "../support/model-server/turn.ts"
import { assembleApp, runToEnd } from "./assembled-app.ts"

/** Uses a host name that only the proxy can resolve. */
function settings(baseUrl = "http://models.example.com/v1"): string {
  return `model:\n  base_url: ${baseUrl}\n  default: test-model\n  api_key: key-behind-the-proxy\nagent:\n  api_max_retries: 1\n`
}

async function appBehind(env: Readonly<Record<string, string>>, config = settings()) {
  return await assembleApp([callsTool("terminal", { command: "true" }), says("Through.")], {
    files: { "config.yaml": config },
    env,
    clock: { ...systemClock, sleep: () => Promise.resolve() },
  })
}

/** Returns the URL of a port on which nothing listens. */
async function closedPortUrl(): Promise<string> {
  const server = await startModelServer([])
  const { url } = server
  await server.close()
  return url
}

describe("a proxy from the environment", () => {
  test.each(["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy"])(
    "%s is used for every request",
    async (variable) => {
      await using proxy = await startForwardProxy()
      await using assembled = await appBehind({ [variable]: `${proxy.url}/` })
      proxy.forwardTo(assembled.model.url)
      const { end } = await runToEnd(await assembled.open(), "Hi.")
      expect([end.result.finalResponse, proxy.requests, assembled.model.requests.length]).toEqual([
        "Through.",
        Array.from({ length: 2 }, () => "http://models.example.com/v1/chat/completions"),
        2,
      ])
      expect(assembled.model.requests[0]?.headers["authorization"]).toBe("Bearer key-behind-the-proxy")
    },
  )

  test("is not used for hosts in NO_PROXY", async () => {
    await using proxy = await startForwardProxy()
    await using assembled = await appBehind({ HTTPS_PROXY: proxy.url, NO_PROXY: "other.org, .example.com" })
    proxy.forwardTo(assembled.model.url)
    const { end } = await runToEnd(await assembled.open(), "Hi.")
    expect([end.outcome, proxy.requests, assembled.model.requests.length]).toEqual(["error", [], 0])
    expect(end.result.error?.message).toMatch(/models\.example\.com\/v1 could not be reached: the host name/)
  })

  test("is not used for a server on this machine", async () => {
    await using proxy = await startForwardProxy()
    await using assembled = await assembleApp([says("Direct.")], { env: { HTTPS_PROXY: proxy.url } })
    const { end } = await runToEnd(await assembled.open(), "Hi.")
    expect([end.result.finalResponse, proxy.requests]).toEqual(["Direct.", []])
  })

  test("opens a tunnel for an https address", async () => {
    await using proxy = await startForwardProxy({ rejectWithStatus: 403 })
    await using assembled = await appBehind({ HTTPS_PROXY: proxy.url }, settings("https://models.example.com/v1"))
    await runToEnd(await assembled.open(), "Hi.")
    expect(proxy.requests).toEqual(["models.example.com:443"])
  })
})

describe("a proxy failure is reported in one sentence, and the session continues", () => {
  test.each([
    { name: "rejects a request", baseUrl: "http://models.example.com/v1", rejectWithStatus: 403, message: /403/ },
    {
      name: "rejects a tunnel",
      baseUrl: "https://models.example.com/v1",
      rejectWithStatus: 403,
      message:
        /the proxy http:\S+ refused the connection \(HTTP 403\); correct or unset HTTPS_PROXY, or add the host to NO_PROXY/,
    },
    {
      name: "requires a login",
      baseUrl: "https://models.example.com/v1",
      rejectWithStatus: 407,
      message: /the proxy http:\S+ requires a user name and a password; set HTTPS_PROXY to http:\/\/USER:PASSWORD@/,
    },
  ])("when the proxy $name", async ({ baseUrl, rejectWithStatus, message: expected }) => {
    await using proxy = await startForwardProxy({ rejectWithStatus })
    await using assembled = await appBehind({ HTTPS_PROXY: proxy.url }, settings(baseUrl))
    const session = await assembled.open()
    const first = await runToEnd(session, "Hi.")
    const message = first.end.result.error?.message ?? ""
    expect([first.end.result.error?.code, message.includes("\n"), message]).toEqual([
      "provider_error",
      false,
      expect.stringMatching(expected) as string,
    ])
    const again = await runToEnd(session, "Still there?")
    expect([again.end.outcome, proxy.requests.length]).toEqual(["error", 2])
    // A failure of the proxy must not be attributed to the provider's key.
    if (baseUrl.startsWith("https:")) expect(message).not.toMatch(/key/)
  })

  test("when nothing listens at the proxy's address", async () => {
    const url = await closedPortUrl()
    await using assembled = await appBehind({ HTTPS_PROXY: url })
    const { end } = await runToEnd(await assembled.open(), "Hi.")
    expect(end.result.error?.message).toBe(
      `custom at http://models.example.com/v1 could not be reached: the proxy ${url} does not respond; start it, or correct or unset HTTPS_PROXY`,
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

describe("a SOCKS proxy from the environment", () => {
  test.each(["HTTPS_PROXY", "ALL_PROXY", "all_proxy"])(
    "%s is used for every request, over one connection",
    async (variable) => {
      await using proxy = await startSocksServer({ login: "ann:pass" })
      await using assembled = await appBehind({ [variable]: `socks5h://ann:pass@${proxy.hostAndPort}/` })
      proxy.forwardTo(assembled.model.url)
      const { end } = await runToEnd(await assembled.open(), "Hi.")
      expect([end.result.finalResponse, assembled.model.requests.length, proxy.requests]).toEqual([
        "Through.",
        2,
        [{ version: 5, host: "models.example.com", port: 80, address: "name", login: "ann:pass" }],
      ])
    },
  )

  test("is not used for hosts in NO_PROXY and for this machine", async () => {
    await using proxy = await startSocksServer()
    await using excepted = await appBehind({ ALL_PROXY: `socks5h://${proxy.hostAndPort}`, NO_PROXY: "example.com" })
    expect((await runToEnd(await excepted.open(), "Hi.")).end.outcome).toBe("error")
    await using local = await assembleApp([says("Direct.")], { env: { ALL_PROXY: `socks5h://${proxy.hostAndPort}` } })
    expect((await runToEnd(await local.open(), "Hi.")).end.result.finalResponse).toBe("Direct.")
    expect(proxy.requests).toEqual([])
  })

  test.each([
    [{ login: "ann:pass" }, "refused the user name or password in ALL_PROXY"],
    [{ reply: 4 }, "cannot reach models.example.com"],
    [{ reply: 2 }, "refused the connection (not allowed by its rules)"],
  ])("that fails (%j) is reported in one sentence, and the session continues", async (options, problem) => {
    await using proxy = await startSocksServer(options)
    await using assembled = await appBehind({ ALL_PROXY: `socks5h://ann:planted-secret@${proxy.hostAndPort}` })
    const session = await assembled.open()
    for (const prompt of ["Hi.", "Still there?"]) {
      const { end } = await runToEnd(session, prompt)
      const message = end.result.error?.message ?? ""
      expect(message).toContain(
        `custom at http://models.example.com/v1 could not be reached: the proxy socks5h://${proxy.hostAndPort} ${problem}`,
      )
      expect(message).not.toMatch(/planted-secret|\n/)
    }
  })

  test("that does not respond does not delay an interrupt", async () => {
    await using proxy = await startSocksServer({ behaves: "silent" })
    await using assembled = await appBehind({ ALL_PROXY: `socks5h://${proxy.hostAndPort}` })
    const session = await assembled.open()
    const stop = new AbortController()
    const outcome = (async () => {
      let last: string | undefined
      for await (const event of session.run("Hi.", { signal: stop.signal }))
        last = event.type === "run-end" ? event.outcome : last
      return last
    })()
    await expect.poll(() => proxy.connections()).toBe(1)
    stop.abort()
    expect(await outcome).toBe("interrupted")
  })
})
