import { spawnSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { request as httpRequest } from "node:http"
import { createServer as createHttpsServer } from "node:https"
import { createServer as createTcpServer } from "node:net"
import type { AddressInfo } from "node:net"
import { join } from "node:path"

import { describe, expect, test } from "vitest"

import { startForwardProxy } from "../support/forward-proxy.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { callsTool, htmlError, raw, refuses, says, status } from "../support/model-server/turn.ts"
import type { ProcessResult } from "../support/process-driver.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const ONE_TRY = "  api_key: key-of-the-test-0123\nagent:\n  api_max_retries: 1\n"

describe("a model that cannot be asked is one sentence with a next step, and the session stays usable", () => {
  const answers: readonly { name: string; turn: ScriptEntry; says: RegExp }[] = [
    {
      name: "a wrong key",
      turn: refuses(401, "Incorrect API key provided"),
      says: /custom \(HTTP 401\) refused the key/,
    },
    {
      name: "an unknown model",
      turn: refuses(404, "The model `test-model` does not exist"),
      says: /custom \(HTTP 404\) does not know the model test-model.*--model/,
    },
    {
      name: "a web page",
      turn: raw("<html>Welcome</html>", { "content-type": "text/html" }),
      says: /custom at http.*check that the address is a model server/,
    },
    {
      name: "some other JSON",
      turn: raw('{"hello":"world"}', { "content-type": "application/json" }),
      says: /custom at http.*check that the address is a model server/,
    },
    {
      name: "a web server without such a page",
      turn: htmlError(404, "Not Found"),
      says: /custom \(HTTP 404\).*HTML page.*base_url/,
    },
    { name: "a gateway without its server", turn: htmlError(502, "Bad Gateway"), says: /custom \(HTTP 502\)/ },
    {
      name: "no credit",
      turn: status(402, { error: { message: "insufficient credits" } }),
      says: /HTTP 402.*Add credit/,
    },
  ]
  test.each(answers)("$name", async ({ turn, says: sentence }) => {
    await using model = await startModelServer([turn, says("Here again.")])
    await using home = await temporaryHome({ config: settingsFor(model, ONE_TRY) })
    const failed = await run(home, ["-z", "first words"])
    expectSentence(failed, sentence)
    expect(failed.stderr).not.toContain("key-of-the-test")
    const later = await run(home, ["-z", "second words", "--continue"])
    expect([later.code, later.stdout, later.stderr]).toEqual([0, "Here again.\n", ""])
    expect(model.view(1).messages.map(({ role, text }) => [role, text])).toEqual([
      ["user", "first words\n\nsecond words"],
    ])
  })

  test("a wrong address, corrected afterwards", async () => {
    await using model = await startModelServer([says("Here again.")])
    await using home = await temporaryHome({
      config: `model:\n  base_url: ${await closedAddress()}/v1\n  default: test-model\n${ONE_TRY}`,
    })
    expectSentence(await run(home, ["-z", "first words"]), /custom at http:\S+ could not be reached.*base_url/)
    writeFileSync(join(home.path, "config.yaml"), settingsFor(model, ONE_TRY))
    const later = await run(home, ["-z", "second words", "--continue"])
    expect([later.code, later.stdout]).toEqual([0, "Here again.\n"])
    expect(model.view(0).messages[0]?.text).toContain("first words")
  })

  test("https where plain http is spoken", async () => {
    await using model = await startModelServer([])
    const address = model.url.replace("http:", "https:")
    await using home = await temporaryHome({
      config: `model:\n  base_url: ${address}/v1\n  default: test-model\n${ONE_TRY}`,
    })
    expectSentence(await run(home, ["-z", "hi"]), /custom at https:.*TLS/)
  })

  test("a server that speaks no HTTP", async () => {
    const server = createTcpServer((socket) => void socket.end("SSH-2.0-OpenSSH_9.6\r\n"))
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    try {
      const { port } = server.address() as AddressInfo
      await using home = await temporaryHome({
        config: `model:\n  base_url: http://127.0.0.1:${port}/v1\n  default: test-model\n${ONE_TRY}`,
      })
      expectSentence(await run(home, ["-z", "hi"]), /custom at http:.*(?:base_url|model server)/)
    } finally {
      server.close()
    }
  })

  test("an unknown provider", async () => {
    await using home = await temporaryHome({ config: "model:\n  provider: antropic\n  default: m\n" })
    expectSentence(await run(home, ["-z", "hi"]), /[Uu]nknown provider "antropic"; did you mean anthropic\?/)
  })

  test("a proxy that refuses, and one that cannot be meant", async () => {
    await using proxy = await startForwardProxy({ refusesWith: 403 })
    await using home = await temporaryHome({
      config: `model:\n  base_url: https://models.example.com/v1\n  default: test-model\n${ONE_TRY}`,
    })
    const env = { HTTPS_PROXY: proxy.url }
    expectSentence(await run(home, ["-z", "hi"], env), /models\.example\.com.*the proxy refused.*HTTPS_PROXY/)
    expectSentence(await run(home, ["-z", "hi"], { HTTPS_PROXY: "http://proxy:port" }), /HTTPS_PROXY.*correct or unset/)
  })
})

describe("model.max_session_cost_usd in a script", () => {
  const settings =
    "model:\n  provider: openai\n  base_url: http://api.example.com/v1\n  default: gpt-4.1\n  api_mode: chat_completions\n  api_key: key-of-the-test-0123\n  max_session_cost_usd: 0.03\n"
  const usage = { input: 10_000, output: 1000 }

  test.each([
    { mode: "-z", args: ["-z", "work"] },
    { mode: "json", args: ["-q", "work", "--output-format", "json"] },
  ])("$mode ends with exit 1 before the call that would pass it", async ({ mode, args }) => {
    await using proxy = await startForwardProxy()
    await using model = await startModelServer([
      { ...callsTool("terminal", { command: "true" }), usage },
      says("Never.", { usage }),
    ])
    proxy.forwardTo(model.url)
    await using home = await temporaryHome({ config: settings, env: { HTTP_PROXY: proxy.url } })
    const result = await run(home, args)
    expect([result.code, model.requests.length]).toEqual([1, 1])
    if (mode === "-z") expectSentence(result, /cost \$0\.0280.*model\.max_session_cost_usd/)
    else expect(JSON.parse(result.stdout)).toMatchObject({ error: { code: "cost_limit" } })
  })
})

describe("keys that Hermes manages", () => {
  test("two keys, 429, 429, 200: the second one answers and the list shows the first one resting", async () => {
    const limited = refuses(429, "slow down", { "retry-after": "0" })
    await using model = await startModelServer([limited, limited, says("Hello.")])
    await using home = await temporaryHome({
      config: `model:\n  provider: acme\n  default: test-model\nproviders:\n  acme:\n    base_url: ${model.url}/v1\n`,
    })
    for (const [label, key] of [
      ["work", "key-number-one-0001"],
      ["home", "key-number-two-0002"],
    ] as const) {
      const added = await run(home, ["auth", "add", "acme", "--api-key", key, "--label", label])
      expect([added.code, added.stderr]).toEqual([0, ""])
    }
    const result = await run(home, ["-z", "hi"])
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Hello.\n", ""])
    expect(model.requests.map(({ headers }) => headers["authorization"])).toEqual([
      "Bearer key-number-one-0001",
      "Bearer key-number-one-0001",
      "Bearer key-number-two-0002",
    ])
    const list = await run(home, ["auth", "list", "acme"])
    expect(list.stdout).toMatch(/work.*(?:rest|exhausted|limit)/i)
    expect(list.stdout).not.toContain("key-number-one")
    const file = readFileSync(join(home.path, "auth.json"), "utf8")
    expect(JSON.parse(file)).toMatchObject({
      credential_pool: {
        "custom:acme": [
          { label: "work", last_status: "exhausted", last_error_code: 429 },
          { label: "home", last_status: null },
        ],
      },
    })
  })
})

const NO_OPENSSL = spawnSync("openssl", ["version"]).status !== 0

/** openssl makes the certificate; without it there is nothing to test with. */
describe.skipIf(NO_OPENSSL)("a certificate of a private authority", () => {
  test("is refused with a clear sentence, and taken with NODE_EXTRA_CA_CERTS", async () => {
    await using model = await startModelServer([says("Trusted.")])
    await using home = await temporaryHome()
    await using server = await startTlsServer(home, model.url)
    writeFileSync(
      join(home.path, "config.yaml"),
      `model:\n  base_url: ${server.url}/v1\n  default: test-model\n${ONE_TRY}`,
    )
    expectSentence(
      await run(home, ["-z", "hi"]),
      /custom at https:\S+ could not be reached: its certificate is self-signed.*NODE_EXTRA_CA_CERTS/,
    )
    const trusted = await run(home, ["-z", "hi"], { NODE_EXTRA_CA_CERTS: server.certificate })
    expect([trusted.code, trusted.stdout, trusted.stderr]).toEqual([0, "Trusted.\n", ""])
  })

  test("works through the tunnel of a proxy too", async () => {
    await using model = await startModelServer([says("Through the tunnel.")])
    await using proxy = await startForwardProxy()
    await using home = await temporaryHome({
      config: `model:\n  base_url: https://models.example.com/v1\n  default: test-model\n${ONE_TRY}`,
    })
    await using server = await startTlsServer(home, model.url)
    proxy.forwardTo(server.url)
    const env = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: server.certificate }
    const result = await run(home, ["-z", "hi"], env)
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Through the tunnel.\n", ""])
    expect(proxy.asked).toEqual(["models.example.com:443"])
  })
})

async function run(
  home: TemporaryHome,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ProcessResult> {
  return await hermes(home, args, { stdin: "inherit-null", env })
}

function expectSentence(result: ProcessResult, sentence: RegExp): void {
  expect([result.code, result.stdout]).toEqual([1, ""])
  expect(result.stderr).toMatch(sentence)
  expect(result.stderr).toMatch(/^[^\n]+\n$/)
  expect(result.stderr).not.toMatch(/\n\s+at |node:internal|internal error/)
}

async function closedAddress(): Promise<string> {
  const server = await startModelServer([])
  const { url } = server
  await server.close()
  return url
}

/** The scripted server behind TLS, with a certificate that only its own file vouches for. */
async function startTlsServer(home: TemporaryHome, target: string) {
  const [key, certificate] = [join(home.workdir, "key.pem"), join(home.workdir, "cert.pem")]
  const names = "subjectAltName=DNS:models.example.com,IP:127.0.0.1"
  const made = spawnSync(
    "openssl",
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=models.example.com -addext ${names}`
      .split(" ")
      .concat("-keyout", key, "-out", certificate),
  )
  expect([made.status, made.status === 0 ? "" : String(made.stderr)]).toEqual([0, ""])
  const server = createHttpsServer(
    { key: readFileSync(key), cert: readFileSync(certificate) },
    (incoming, response) => {
      const { method, headers } = incoming
      const outgoing = httpRequest(new URL(incoming.url ?? "/", target), { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      })
      outgoing.on("error", () => response.destroy())
      incoming.pipe(outgoing)
    },
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    certificate,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
