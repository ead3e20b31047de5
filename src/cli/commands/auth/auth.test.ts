import { readFileSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { describe, expect, test } from "vitest"
import { startAuthorizationServer } from "../../../../test/support/authorization-server.ts"
import { startTlsServer } from "../../../../test/support/tls-server.ts"
import { createCliHome, type CliHome } from "../../../../test/support/cli-home.ts"

const SECRET = "sk-planted-secret-0123456789"

function stored(home: CliHome) {
  return JSON.parse(readFileSync(home.home.file("auth.json"), "utf8")) as {
    active_provider: string | null
    providers: Record<string, unknown>
    credential_pool: Record<string, Record<string, unknown>[]>
    suppressed_sources?: unknown
  }
}

async function listed(home: CliHome, variables: Record<string, string> = {}) {
  const { out } = await home.run(["auth", "list", "--json"], { variables })
  return JSON.parse(out) as { provider: string; credentials: { id: string; label: string; source: string }[] }[]
}

test("add, list, status and remove a key; the key is in no output", async () => {
  using home = createCliHome()
  const added = await home.run(["auth", "add", "openrouter", "--api-key", SECRET, "--label", "work"])
  expect(added).toEqual({ code: 0, out: "Added work to openrouter.\n", err: "" })
  const asked = await home.run(["auth", "add", "or"], { answers: [`${SECRET}-2`] })
  expect(asked).toMatchObject({ code: 0, out: "Added key 1 to openrouter.\n" })
  const outputs = await Promise.all([home.run(["auth", "list"]), home.run(["auth", "status", "openrouter"])])
  expect(outputs[0].out).toMatch(/^openrouter\n {2}1 {2}\w{6}.* key .*work .*manual .*ok\n {2}2 /)
  expect(outputs[1].out).toContain("Usable now  2 of 2\n")
  expect([added, asked, ...outputs].map(({ out, err }) => out + err).join("")).not.toContain("planted")
  const { id } = (await listed(home))[0]!.credentials[1]!
  expect(await home.run(["auth", "remove", "openrouter", id])).toMatchObject({ code: 0 })
  expect(await home.run(["auth", "remove", "openrouter", "1"])).toMatchObject({
    code: 0,
    out: "Removed work from openrouter.\n",
  })
  expect((await home.run(["auth", "list"])).out).toBe(
    "There are no credentials. Add one with `hermes auth add PROVIDER`.\n",
  )
})

test("adding the same key again only changes its label", async () => {
  using home = createCliHome()
  await home.run(["auth", "add", "openrouter", "--api-key", SECRET])
  await home.run(["auth", "add", "openrouter", "--api-key", SECRET, "--label", "new name"])
  expect((await listed(home))[0]?.credentials).toMatchObject([{ label: "new name" }])
})

test("a key from a variable stays removed", async () => {
  using home = createCliHome()
  const variables = { OPENROUTER_API_KEY: SECRET }
  expect(await home.run(["auth", "remove", "openrouter", "OPENROUTER_API_KEY"], { variables })).toEqual({
    code: 0,
    out: "Removed OPENROUTER_API_KEY from openrouter.\nOPENROUTER_API_KEY itself was left alone; Hermes no longer uses it for openrouter.\n",
    err: "",
  })
  expect(stored(home).suppressed_sources).toEqual({ openrouter: ["env:OPENROUTER_API_KEY"] })
  expect((await listed(home, variables)).map(({ provider }) => provider)).not.toContain("openrouter")
})

test("a removed key is not used by status, doctor, model or setup", async () => {
  using home = createCliHome()
  const sentKeys: (string | undefined)[] = []
  const server = createServer(({ headers }, response) => {
    sentKeys.push(headers.authorization)
    response.writeHead(200, { "content-type": "application/json" }).end('{ "data": [{ "id": "one" }] }')
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const variables = { OPENAI_API_KEY: SECRET, OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1`, LANG: "C.UTF-8" }
  writeFileSync(home.home.file("config.yaml"), "model:\n  default: one\n", { mode: 0o600 })
  const runAll = async (): Promise<string> => {
    sentKeys.splice(0)
    const lines = [["status", "--deep"], ["doctor"], ["model", "--refresh"], ["setup", "--non-interactive"]]
    const runs = await Promise.all(lines.map(async (line) => await home.run(line, { variables })))
    return runs.map(({ out, err }) => out + err).join("")
  }

  expect(await runAll()).toMatch(/key(?: from|:) +OPENAI_API_KEY/)
  // The search for local servers sends no key.
  expect(new Set(sentKeys)).toEqual(new Set([`Bearer ${SECRET}`, undefined]))
  expect((await home.run(["auth", "remove", "openai-api", "OPENAI_API_KEY"], { variables })).code).toBe(0)
  const printed = await runAll()
  expect(printed).not.toMatch(/key(?: from|:) +OPENAI_API_KEY/)
  expect(printed).toContain("OPENAI_API_KEY not used: removed with `hermes auth remove`\n")
  expect(new Set(sentKeys)).toEqual(new Set([undefined]))
  server.close()
})

test("reset ends cooldowns", async () => {
  using home = createCliHome()
  const waiting = { id: "aaaaaa", access_token: "k", last_status: "exhausted", last_status_at: Date.now() / 1000 }
  writeFileSync(home.home.file("auth.json"), JSON.stringify({ credential_pool: { openrouter: [waiting] } }))
  expect((await home.run(["auth", "status", "openrouter"])).out).toMatch(/cooldown until \d{4}-/)
  expect((await home.run(["auth", "reset", "openrouter"])).out).toBe("1 credential of openrouter can be used again.\n")
  expect((await home.run(["auth", "reset", "openrouter"])).out).toBe("No credential of openrouter was in a cooldown.\n")
  expect(stored(home).credential_pool["openrouter"]).toMatchObject([{ id: "aaaaaa", last_status: null }])
})

test("strategy writes the setting", async () => {
  using home = createCliHome()
  expect(await home.run(["auth", "strategy", "openrouter", "round_robin"])).toMatchObject({ code: 0 })
  expect(readFileSync(home.home.file("config.yaml"), "utf8")).toContain("openrouter: round_robin")
  expect((await home.run(["auth", "status", "openrouter"])).out).toContain("Strategy    round_robin\n")
})

describe("mistakes", () => {
  test.each([
    [["auth", "add", "opnrouter"], 2, "There is no provider `opnrouter`. Did you mean openrouter?"],
    [["auth", "list", "nothing-like-it"], 2, "There is no provider `nothing-like-it`."],
    [["auth", "remove", "openrouter", "7"], 1, "There is no credential `7` at openrouter"],
    [["auth", "strategy", "openrouter", "best"], 2, "`best` is not a strategy"],
    [["auth", "add", "openrouter"], 1, "There is no terminal to ask for the key"],
    [["auth", "add", "openrouter", "--api-key", "changeme"], 2, "That is not a key"],
    [["auth", "add", "openrouter", "--api-key", "k", "--type", "oauth"], 2, "`--api-key` cannot be combined with"],
    [["auth", "add", "anthropic", "--type", "oauth"], 1, "hermes config set providers.anthropic.oauth.client_id"],
    [["auth"], 1, "There is no terminal to ask questions on"],
    [["login"], 1, "hermes auth add PROVIDER"],
  ])("%j", async (line, code, sentence) => {
    using home = createCliHome()
    const { err, ...rest } = await home.run(line)
    expect(rest).toEqual({ code, out: "" })
    expect(err).toContain(sentence)
  })
})

describe("login", () => {
  const withSettings = (home: CliHome, oauth: string) =>
    writeFileSync(
      home.home.file("config.yaml"),
      `providers: { lab: { base_url: "http://10.0.0.1/v1", oauth: { ${oauth} } } }\n`,
    )

  test("by device code: stored, listed, and removed by logging out", async () => {
    using home = createCliHome()
    await using server = await startAuthorizationServer({ interval: 0.001 })
    server.grantDevice()
    withSettings(home, `client_id: c, token_url: "${server.url}/token", device_url: "${server.url}/device"`)
    const done = await home.run(["auth", "add", "lab", "--type", "oauth", "--label", "me"])
    expect(done).toMatchObject({ code: 0, out: "Logged in at custom:lab as me.\n" })
    expect(done.err).toContain("ABCD-EFGH")
    expect(stored(home)).toMatchObject({
      active_provider: "custom:lab",
      providers: { "custom:lab": { access_token: "access-token-1", refresh_token: "refresh-token-1", client_id: "c" } },
      credential_pool: { "custom:lab": [{ auth_type: "oauth", source: "device_code", label: "me" }] },
    })
    expect((await home.run(["auth", "status", "lab"])).out).toContain("Logged in   yes\n")
    expect((await home.run(["auth", "logout", "lab"])).out).toBe("Logged out of custom:lab. Keys were kept.\n")
    expect(stored(home)).toMatchObject({ active_provider: null, providers: {}, credential_pool: {} })
    expect((await home.run(["auth", "logout", "lab"])).out).toBe("There was no login at custom:lab.\n")
  })

  test("in the browser: a second account joins the pool, the same account again replaces its tokens", async () => {
    using home = createCliHome()
    await using server = await startAuthorizationServer()
    withSettings(home, `client_id: c, token_url: "${server.url}/token", authorize_url: "${server.url}/authorize"`)
    for (const label of ["first", "second", "first"]) expect(await loginInBrowser(home, label)).toBe(0)
    expect(stored(home).credential_pool["custom:lab"]).toMatchObject([
      { label: "first", source: "loopback_pkce", access_token: "access-token-3" },
      { label: "second", source: "manual:loopback_pkce", access_token: "access-token-2" },
    ])
    expect(stored(home).providers["custom:lab"]).toMatchObject({ access_token: "access-token-3" })
  })
})

describe("a login server with an unknown certificate authority", () => {
  async function lab(options: Parameters<typeof startAuthorizationServer>[0] = {}) {
    const home = createCliHome()
    const server = await startAuthorizationServer({ interval: 0.001, ...options })
    const secure = await startTlsServer(server.url)
    const settings = (oauth: string): void =>
      writeFileSync(
        home.home.file("config.yaml"),
        `providers: { lab: { base_url: "http://10.0.0.1/v1", oauth: { client_id: c, token_url: "${secure.url}/token", ${oauth} } } }\n`,
      )
    settings(`device_url: "${secure.url}/device"`)
    server.grantDevice()
    return {
      home,
      server,
      secure,
      settings,
      add: (...flags: string[]) => home.run(["auth", "add", "lab", "--type", "oauth", ...flags]),
      async [Symbol.asyncDispose]() {
        home[Symbol.dispose]()
        await secure[Symbol.asyncDispose]()
        await server[Symbol.asyncDispose]()
      },
    }
  }

  test("is not trusted", async () => {
    await using at = await lab()
    expect(await at.add()).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(
        /https:\/\/127\.0\.0\.1:\d+ could not be reached: its certificate cannot be verified; set its CA file with --ca-bundle or SSL_CERT_FILE\.\n$/,
      ) as string,
    })
    expect(at.server.deviceRequests).toEqual([])
  })

  test("is trusted with --ca-bundle, which is stored for the renewal", async () => {
    await using at = await lab()
    expect(await at.add("--ca-bundle", at.secure.certificateFile)).toMatchObject({ code: 0 })
    const tls = { ca_bundle: at.secure.certificateFile }
    expect(stored(at.home)).toMatchObject({
      providers: { "custom:lab": { access_token: "access-token-1", tls } },
      credential_pool: { "custom:lab": [{ access_token: "access-token-1", tls }] },
    })
  })

  test("is trusted with providers.NAME.ca_bundle and with SSL_CERT_FILE", async () => {
    await using at = await lab()
    const { certificateFile: certificate } = at.secure
    expect(
      await at.home.run(["auth", "add", "lab", "--type", "oauth"], { variables: { SSL_CERT_FILE: certificate } }),
    ).toMatchObject({ code: 0 })
    expect(await at.home.run(["config", "set", "providers.lab.ca_bundle", certificate])).toMatchObject({ code: 0 })
    expect(await at.add()).toMatchObject({ code: 0 })
    expect(readFileSync(at.home.home.file("auth.json"), "utf8")).not.toContain("tls")
  })

  test("is trusted with --insecure, once and with a warning", async () => {
    await using at = await lab()
    const done = await at.add("--insecure")
    expect([done.code, done.err.split("\n")[0]]).toEqual([
      0,
      expect.stringMatching(/^Warning: the certificate of the login server is not checked/),
    ])
    expect(readFileSync(at.home.home.file("auth.json"), "utf8")).not.toContain("insecure")
  })

  test("in the browser: the pasted address is redeemed over TLS", async () => {
    await using at = await lab()
    at.settings(`authorize_url: "${at.server.url}/authorize"`)
    const { recordingTerminal } = await import("../../../../test/support/cli-home.ts")
    const terminal = recordingTerminal(["never used"])
    let address = ""
    const { runCommandLine } = await import("../../run-command-line.ts")
    const { environmentFrom } = await import("../../../config/environment.ts")
    const line = ["auth", "add", "lab", "--type", "oauth", "--manual-paste", "--ca-bundle", at.secure.certificateFile]
    const code = await runCommandLine(line, {
      terminal: {
        ...terminal,
        errLine: (text) => void (address = /https?:\S+/.exec(text)?.[0] ?? address),
        ask: async () => (await fetch(address, { redirect: "manual" })).headers.get("location") ?? "",
      },
      environment: environmentFrom(at.home.variables),
      signal: new AbortController().signal,
    })
    expect([code, stored(at.home).providers["custom:lab"]]).toMatchObject([0, { access_token: "access-token-1" }])
  })

  test("that does not respond is given up after --timeout", async () => {
    await using at = await lab({ beforeTokenResponse: () => new Promise(() => undefined) })
    const late = await at.add("--ca-bundle", at.secure.certificateFile, "--timeout", "0.3")
    expect([late.code, late.err]).toEqual([
      1,
      expect.stringContaining("could not be reached: no response within 0.3 s"),
    ])
  })

  test.each([
    ["nowhere.pem", /The file \S*nowhere\.pem of --ca-bundle cannot be read: no such file or directory/],
    ["auth.json", /The file \S*auth\.json of --ca-bundle contains no PEM certificates/],
    ["broken.pem", /The file \S*broken\.pem of --ca-bundle contains no PEM certificates/],
  ])("%s is refused as a CA bundle", async (name, sentence) => {
    await using at = await lab()
    writeFileSync(at.home.home.file("auth.json"), "{}")
    writeFileSync(at.home.home.file("broken.pem"), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    const run = await at.add("--ca-bundle", at.home.home.file(name))
    expect([run.code, run.out, run.err.trimEnd().split("\n").length]).toEqual([1, "", 1])
    expect(run.err).toMatch(sentence)
  })

  test("--insecure conflicts with --ca-bundle", async () => {
    await using at = await lab()
    expect(await at.add("--insecure", "--ca-bundle", at.secure.certificateFile)).toMatchObject({ code: 2 })
  })
})

/** Acts as the user: opens the address that the command prints. */
async function loginInBrowser(home: CliHome, label: string): Promise<number> {
  const { runCommandLine } = await import("../../run-command-line.ts")
  const { recordingTerminal } = await import("../../../../test/support/cli-home.ts")
  const { environmentFrom } = await import("../../../config/environment.ts")
  const terminal = recordingTerminal()
  const opened = Promise.withResolvers<void>()
  const errLine = (text: string): void => {
    const url = /https?:\S+/.exec(text)?.[0]
    if (url !== undefined) fetch(url).then(() => opened.resolve(), opened.reject)
  }
  const code = await runCommandLine(["auth", "add", "lab", "--type", "oauth", "--label", label, "--no-browser"], {
    terminal: { ...terminal, errLine },
    environment: environmentFrom(home.variables),
    signal: new AbortController().signal,
  })
  await opened.promise
  return code
}

test("without a subcommand the user is asked for actions until they leave", async () => {
  using home = createCliHome()
  const { code, out, err } = await home.run(["auth"], {
    answers: ["add", "openrouter", SECRET, "fly", "remove", "openrouter", "9", "list", ""],
  })
  expect(code).toBe(0)
  expect(out).toContain("Added key 1 to openrouter.\n")
  expect(err).toContain("That is not one of the actions.")
  expect(err).toContain("There is no credential `9` at openrouter")
  expect(out + err).not.toContain("planted")
})
