import { createHash } from "node:crypto"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createServer as createHttpServer, request as httpRequest } from "node:http"
import { createServer as createTcpServer } from "node:net"
import type { AddressInfo } from "node:net"
import { dirname, join } from "node:path"

import { describe, expect, test } from "vitest"

import { startAuthorizationServer } from "../support/authorization-server.ts"
import { startAwsServer } from "../support/aws-server.ts"
import { startForwardProxy } from "../support/forward-proxy.ts"
import { startModelServer } from "../support/model-server/server.ts"
import type { ScriptEntry } from "../support/model-server/turn.ts"
import { callsTool, htmlError, raw, refuses, repeat, says, status } from "../support/model-server/turn.ts"
import { hermesCommand } from "../support/process-driver.ts"
import type { ProcessResult } from "../support/process-driver.ts"
import { startSocksServer } from "../support/socks-server.ts"
import { temporaryHome } from "../support/temporary-home.ts"
import type { TemporaryHome } from "../support/temporary-home.ts"
import { startTlsServer } from "../support/tls-server.ts"
import { openTerminal } from "../support/virtual-terminal.ts"
import { hermes, settingsFor } from "./hermes-process.ts"

const ONE_TRY = "  api_key: key-of-the-test-0123\nagent:\n  api_max_retries: 1\n"

describe("an unreachable model is reported in one sentence with a next step, and the session stays usable", () => {
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
    {
      name: "a page that knows no POST",
      turn: htmlError(405, "Method Not Allowed"),
      says: /custom \(HTTP 405\).*HTML page.*base_url/,
    },
    {
      name: "a redirect",
      turn: { kind: "status", status: 302, headers: { location: "https://login.example.com/" } },
      says: /custom \(HTTP 302\) redirects to https:\/\/login\.example\.com\/.*base_url/,
    },
    {
      name: "a model that was not pulled",
      turn: refuses(404, 'model "test-model" not found, try pulling it first'),
      says: /custom \(HTTP 404\) does not know the model test-model.*--model/,
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
      ["user", "first words"],
      ["assistant", expect.stringContaining("There was no reply to this message")],
      ["user", "second words"],
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

  test("a host that does not exist", async () => {
    await using home = await temporaryHome({
      config: `model:\n  base_url: https://models.invalid/v1\n  default: test-model\n${ONE_TRY}`,
    })
    expectSentence(
      await run(home, ["-z", "hi"]),
      /custom at https:\S+ could not be reached: the host name .*(?:base_url|network up)/,
    )
  })

  test("https at a plain http server", async () => {
    await using model = await startModelServer([])
    const address = model.url.replace("http:", "https:")
    await using home = await temporaryHome({
      config: `model:\n  base_url: ${address}/v1\n  default: test-model\n${ONE_TRY}`,
    })
    expectSentence(await run(home, ["-z", "hi"]), /custom at https:.*TLS/)
  })

  test("a server that is not an HTTP server", async () => {
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

  test("a proxy that refuses, and an invalid proxy address", async () => {
    await using proxy = await startForwardProxy({ rejectWithStatus: 403 })
    await using home = await temporaryHome({
      config: `model:\n  base_url: https://models.example.com/v1\n  default: test-model\n${ONE_TRY}`,
    })
    const env = { HTTPS_PROXY: proxy.url }
    expectSentence(await run(home, ["-z", "hi"], env), /models\.example\.com.*the proxy http:\S+ refused.*HTTPS_PROXY/)
    expectSentence(await run(home, ["-z", "hi"], { HTTPS_PROXY: "http://proxy:port" }), /HTTPS_PROXY.*correct or unset/)
  })
})

describe("a model named by an alias", () => {
  test("an alias selects the newest model of its family, and stderr says which", async () => {
    await using model = await startModelServer([repeat(says("Here."))])
    await using home = await temporaryHome({
      config: `model:\n  provider: anthropic\n  default: claude-sonnet-4-6\nproviders:\n  anthropic: { base_url: "${model.url}" }\n`,
      env: { ANTHROPIC_API_KEY: "sk-ant-0123456789" },
    })
    expect(await run(home, ["-z", "hi", "--model", "opus"])).toMatchObject({
      code: 0,
      stdout: "Here.\n",
      stderr: expect.stringMatching(/^The model name opus stands for claude-opus-\S+ \(anthropic\)\.\n$/) as string,
    })
    const missing = await run(home, ["-z", "hi", "--model", "grok"])
    expect([missing.code, missing.stdout]).toEqual([1, ""])
    expect(missing.stderr).toMatch(/no model for the alias "grok"/)
    expect(model.requests.map(({ path, body }) => [path, (body as { model: string }).model])).toEqual([
      ["/v1/messages", expect.stringMatching(/^claude-opus-\d/) as string],
    ])
  })

  test("a configured provider keeps a model that only another one lists, and stderr names that one", async () => {
    await using model = await startModelServer([repeat(says("Here."))])
    await using home = await temporaryHome({
      config: `model:\n  provider: openai-api\n  default: gpt-4.1\nproviders:\n  openai-api: { base_url: "${model.url}/v1" }\n  deepseek: { base_url: "${model.url}/deepseek" }\n`,
      env: { OPENAI_API_KEY: "sk-0123456789", DEEPSEEK_API_KEY: "sk-deep-0123456789" },
    })
    const outcomes = [
      await run(home, ["-z", "hi", "--model", "o3"]),
      await run(home, ["-z", "hi", "--model", "deepseek-v4-pro"]),
      await run(home, ["-z", "hi", "--provider", "deepseek", "--model", "deepseek-v4-pro"]),
    ]
    expect(outcomes.map(({ stderr }) => stderr)).toEqual([
      "",
      "OpenAI is not known to have deepseek-v4-pro. DeepSeek has it: use --provider deepseek to send the request there.\n",
      "",
    ])
    const sent = model.requests.map(({ path, headers, body }) => [
      path.split("/")[1],
      headers["authorization"],
      (body as { model: string }).model,
    ])
    expect(sent).toEqual([
      ["v1", "Bearer sk-0123456789", "o3"],
      ["v1", "Bearer sk-0123456789", "deepseek-v4-pro"],
      ["deepseek", "Bearer sk-deep-0123456789", "deepseek-v4-pro"],
    ])
  })
})

test("a user without a model can connect one before the first message", async () => {
  await using model = await startModelServer([repeat(says("Here."))])
  await using home = await temporaryHome()
  await using terminal = await openTerminal({ command: hermesCommand(), env: home.env, cwd: home.workdir })
  await terminal.waitFor(/Connect one now \(c\)[^]*\?/u)
  terminal.type("c\r")
  await terminal.waitFor("Provider:")
  terminal.type("custom\r")
  await terminal.waitFor("Address")
  terminal.type(`${model.url}/v1\r`)
  await terminal.waitFor("Key (empty for none):")
  terminal.type("\r")
  await terminal.waitFor(/Hermes · scripted-model \(custom\)[^]*you>/)
  terminal.type("hello\r")
  await terminal.waitFor(/hello[^]*Here\./)
  expect(readFileSync(join(home.path, "config.yaml"), "utf8")).toContain("default: scripted-model")
})

describe("a local server with several models", () => {
  async function startOllama(answers: ScriptEntry[]) {
    const model = await startModelServer(answers)
    const json = (names: readonly string[]) => JSON.stringify({ models: names.map((name) => ({ model: name })) })
    const front = createHttpServer((request, response) => {
      if (request.url === "/api/tags") response.end(json(["qwen3:14b", "llama3:8b"]))
      else if (request.url === "/v1/chat/completions") {
        const asked = httpRequest(
          `${model.url}${request.url}`,
          { method: "POST", headers: request.headers },
          (answer) => {
            response.writeHead(answer.statusCode ?? 500, answer.headers)
            answer.pipe(response)
          },
        )
        request.pipe(asked)
      } else response.writeHead(404).end()
    })
    await new Promise<void>((resolve) => front.listen(0, "127.0.0.1", resolve))
    const { port } = front.address() as AddressInfo
    return {
      model,
      host: `127.0.0.1:${port}`,
      async [Symbol.asyncDispose]() {
        front.closeAllConnections()
        front.close()
        await model.close()
      },
    }
  }

  test("a script gets the list of models and can name one", async () => {
    await using ollama = await startOllama([says("Here.")])
    await using home = await temporaryHome({ env: { OLLAMA_HOST: ollama.host } })
    const unnamed = await run(home, ["-z", "hi"])
    expect([unnamed.code, unnamed.stdout]).toEqual([1, ""])
    expect(unnamed.stderr).toMatch(/Ollama at http:\S+ has several.*--model: qwen3:14b, llama3:8b/)
    const named = await run(home, ["-z", "hi", "--model", "llama3:8b"])
    expect([named.code, named.stdout]).toEqual([0, "Here.\n"])
    expect(ollama.model.requests.map(({ body }) => (body as { model: string }).model)).toEqual(["llama3:8b"])
  })

  test("a user is asked, and the conversation starts with the chosen model", async () => {
    await using ollama = await startOllama([repeat(says("Here."))])
    await using home = await temporaryHome({ env: { OLLAMA_HOST: ollama.host } })
    await using terminal = await openTerminal({ command: hermesCommand(), env: home.env, cwd: home.workdir })
    await terminal.waitFor(/2 {2}llama3:8b[^]*Model:/)
    terminal.type("9\r")
    await terminal.waitFor("There is no number 9 in this list")
    terminal.type("2\r")
    await terminal.waitFor(/Hermes · llama3:8b[^]*you>/)
    terminal.type("hello\r")
    await terminal.waitFor(/hello[^]*Here\./)
    expect(ollama.model.requests[0]?.body).toMatchObject({ model: "llama3:8b" })
  })
})

describe("model.max_session_cost_usd in a script", () => {
  const settings =
    "model:\n  provider: openai\n  base_url: http://api.example.com/v1\n  default: gpt-4.1\n  api_mode: chat_completions\n  api_key: key-of-the-test-0123\n  max_session_cost_usd: 0.03\n"
  const usage = { input: 10_000, output: 1000 }

  test.each([
    { mode: "-z", args: ["-z", "work"] },
    { mode: "json", args: ["-q", "work", "--output-format", "json"] },
  ])("$mode exits 1 before the call that would exceed it", async ({ mode, args }) => {
    await using proxy = await startForwardProxy()
    await using model = await startModelServer([
      { ...callsTool("terminal", { command: "true" }), usage },
      says("Never.", { usage }),
    ])
    proxy.forwardTo(model.url)
    await using home = await temporaryHome({ config: settings, env: { HTTP_PROXY: proxy.url } })
    const result = await run(home, args)
    expect([result.code, model.requests.length]).toEqual([1, 1])
    if (mode === "-z") expect(result.stderr).toMatch(/\nhermes -z: .*cost \$0\.0280.*model\.max_session_cost_usd.*\n$/)
    else expect(JSON.parse(result.stdout)).toMatchObject({ error: { code: "cost_limit" } })
  })
})

describe("managed credentials", () => {
  test("after 429 on the first key the second one is used, and the list shows the cooldown", async () => {
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

describe("a certificate of a private CA", () => {
  test("is rejected with a clear message, and accepted with the CA file", async () => {
    await using model = await startModelServer(Array.from({ length: 5 }, () => says("Trusted.")))
    await using home = await temporaryHome()
    await using server = await startTlsServer(model.url)
    writeFileSync(
      join(home.path, "config.yaml"),
      `model:\n  base_url: ${server.url}/v1\n  default: test-model\n${ONE_TRY}`,
    )
    expectSentence(
      await run(home, ["-z", "hi"]),
      /custom at https:\S+ could not be reached: its certificate is self-signed.*SSL_CERT_FILE/,
    )
    for (const name of ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"]) {
      const trusted = await run(home, ["-z", "hi"], { [name]: server.certificateFile })
      expect([name, trusted.code, trusted.stdout, trusted.stderr]).toEqual([name, 0, "Trusted.\n", ""])
    }
    writeFileSync(join(home.path, ".env"), `SSL_CERT_FILE=${server.certificateFile}\n`)
    expect((await run(home, ["-z", "hi"])).stdout).toBe("Trusted.\n")
    writeFileSync(join(home.path, ".env"), "")
    writeFileSync(
      join(home.path, "config.yaml"),
      `model:\n  provider: lab\n  default: test-model\nproviders:\n  lab:\n    base_url: ${server.url}/v1\n    api_key: k-lab\n    ca_bundle: ${server.certificateFile}\n`,
    )
    expect((await run(home, ["-z", "hi"])).stdout).toBe("Trusted.\n")
  })

  test.each([
    [
      "SSL_CERT_FILE",
      "/no/such/file.pem",
      /The file \/no\/such\/file\.pem of SSL_CERT_FILE cannot be read: no such file/i,
    ],
    [
      "REQUESTS_CA_BUNDLE",
      "/etc/hostname",
      /The file \/etc\/hostname of REQUESTS_CA_BUNDLE contains no PEM certificates/i,
    ],
  ])("%s=%s prints one sentence", async (name, path, sentence) => {
    await using home = await temporaryHome({
      config: `model:\n  base_url: https://models.example.com/v1\n  default: test-model\n${ONE_TRY}`,
    })
    expectSentence(await run(home, ["-z", "hi"], { [name]: path }), sentence)
  })

  test("--insecure and --ca-bundle of a login do not reach the model", async () => {
    await using login = await startAuthorizationServer({ interval: 0.001 })
    login.grantDevice()
    await using server = await startTlsServer(login.url)
    await using home = await temporaryHome({
      config: `model:\n  provider: lab\n  default: test-model\nproviders:\n  lab:\n    base_url: ${server.url}/v1\n    oauth: { client_id: c, token_url: "${server.url}/token", device_url: "${server.url}/device" }\nagent:\n  api_max_retries: 1\n`,
    })
    for (const flags of [["--insecure"], ["--ca-bundle", server.certificateFile]]) {
      const added = await run(home, ["auth", "add", "lab", "--type", "oauth", ...flags])
      expect([added.code, added.stderr.includes("Warning")]).toEqual([0, flags[0] === "--insecure"])
      expectSentence(
        await run(home, ["-z", "hi"]),
        /lab at https:\S+ could not be reached: its certificate is self-signed/,
      )
    }
  })

  test("works through an HTTP proxy tunnel", async () => {
    await using model = await startModelServer([says("Through the tunnel.")])
    await using proxy = await startForwardProxy()
    await using home = await temporaryHome({
      config: `model:\n  base_url: https://models.example.com/v1\n  default: test-model\n${ONE_TRY}`,
    })
    await using server = await startTlsServer(model.url)
    proxy.forwardTo(server.url)
    const env = { HTTPS_PROXY: proxy.url, SSL_CERT_FILE: server.certificateFile }
    const result = await run(home, ["-z", "hi"], env)
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Through the tunnel.\n", ""])
    expect(proxy.requests).toEqual(["models.example.com:443"])
  })

  test("works through a SOCKS proxy with one connection for all requests", async () => {
    await using model = await startModelServer([callsTool("terminal", { command: "true" }), says("Through the socks.")])
    await using proxy = await startSocksServer({ login: "ann:pass" })
    await using home = await temporaryHome({
      config: `model:\n  base_url: https://models.example.com/v1\n  default: test-model\n${ONE_TRY}`,
    })
    await using server = await startTlsServer(model.url)
    proxy.forwardTo(server.url)
    const env = { ALL_PROXY: `socks5h://ann:pass@${proxy.hostAndPort}`, SSL_CERT_FILE: server.certificateFile }
    const result = await run(home, ["-z", "hi"], env)
    expect([result.code, result.stdout, result.stderr]).toEqual([0, "Through the socks.\n", ""])
    expect(proxy.requests).toEqual([
      { version: 5, host: "models.example.com", port: 443, address: "name", login: "ann:pass" },
    ])
    expectSentence(
      await run(home, ["-z", "hi"], { ALL_PROXY: `socks5h://ann:planted@${proxy.hostAndPort}` }),
      /custom at https:\S+ could not be reached: the proxy socks5h:\/\/127\.0\.0\.1:\d+ refused the user name or password in ALL_PROXY; correct them/,
    )
  })
})

describe("the keys of an AWS profile, through the built command", () => {
  const ROLE = "arn:aws:iam::1:role/models"
  const SESSION = createHash("sha1").update("company").digest("hex")
  const files = {
    ".aws/config": `[profile role]\nrole_arn = ${ROLE}\nsource_profile = program\n
[profile program]\ncredential_process = /bin/sh "HOME/print keys"\n
[sso-session company]\nsso_start_url = https://c.awsapps.com/start\nsso_region = eu-west-1\n
[profile sso]\nsso_session = company\nsso_account_id = 1\nsso_role_name = Models\n`,
    "print keys": `echo '{"Version":1,"AccessKeyId":"AKIA-PROGRAM","SecretAccessKey":"program-secret"}'\n`,
    [`.aws/sso/cache/${SESSION}.json`]: JSON.stringify({ accessToken: "a-1", expiresAt: "2040-01-01T00:00:00Z" }),
  }

  test("requests are signed with the credentials of a process, an assumed role and an SSO login", async () => {
    await using model = await startModelServer(Array.from({ length: 3 }, () => says("Signed.")))
    await using aws = await startAwsServer({ secrets: { "AKIA-PROGRAM": "program-secret" } })
    aws.ssoTokens.add("a-1")
    await using home = await temporaryHome({
      config: `model:\n  provider: bedrock\n  base_url: ${model.url}\n  default: anthropic.claude-sonnet-4-6\n${ONE_TRY}`,
      env: aws.variables,
    })
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(home.userHome, name)), { recursive: true })
      writeFileSync(join(home.userHome, name), text.replaceAll("HOME", home.userHome))
    }
    for (const profile of ["program", "role", "sso"]) {
      const result = await run(home, ["-z", "hi"], { AWS_PROFILE: profile })
      expect([profile, result.code, result.stdout, result.stderr]).toEqual([profile, 0, "Signed.\n", ""])
    }
    const signers = model.requests.map(({ headers }) => /Credential=([^/]+)/.exec(headers["authorization"] ?? "")?.[1])
    expect(signers).toEqual(["AKIA-PROGRAM", "ASIA-ROLE-1", "ASIA-SSO"])
    expect(aws.requests).toEqual([`AssumeRole ${ROLE} by AKIA-PROGRAM`, "GetRoleCredentials 1 Models"])
    aws.ssoTokens.clear()
    expectSentence(await run(home, ["-z", "hi"], { AWS_PROFILE: "sso" }), /bedrock.*`aws sso login --profile sso`/)
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

test("-z prints the answer of a fallback model, and on stderr that another model answered", async () => {
  await using broken = await startModelServer([repeat(refuses(401, "Incorrect API key provided"))])
  await using working = await startModelServer([says("from the second model")])
  const fallback = `fallback_providers:\n  - provider: custom\n    model: second\n    base_url: ${working.url}/v1\n    api_key: k\n`
  await using home = await temporaryHome({ config: settingsFor(broken, `${ONE_TRY}${fallback}`) })
  const { code, stdout, stderr } = await hermes(home, ["-z", "hi"])
  expect([code, stdout]).toEqual([0, "from the second model\n"])
  expect(stderr).toMatch(/switching to .*second/)
})
